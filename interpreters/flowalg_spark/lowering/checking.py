"""Values that come from outside, held to their shape: no null, and no name of an enum, that the shape does not allow.

What does not fit fails the query, or is told of its record, and the message names the source, the field and what would
be valid.
"""

from __future__ import annotations

from attrs import evolve, frozen
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.shapes import EnumOf, ListOf, MapOf, OptionalOf, RecordOf, Scalar, SetOf, Shape, TupleOf
from flowalg_spark.encoding.layout import Branch, Columns, Leaf, frame_columns
from flowalg_spark.encoding.schema import cast_to, parts_of, spark_type


@frozen
class FieldPath:
    """A place in the records of a source, and whether its values can be null."""

    source: str
    path: str
    nullable: bool = True

    def inside(self, what: str) -> FieldPath:
        """A place inside this one; what lies inside a column can be null whatever its schema says."""
        return evolve(self, path=f"{self.path}{what}", nullable=True)


def source_columns(shape: Shape, schema: T.StructType) -> Columns:
    """The columns of a source's records, unchecked, of the types that their shape has in Spark."""
    kinds = {one.name: one.dataType for one in schema.fields}
    element = frame_columns(shape)
    if isinstance(element, Branch):
        named = zip(parts_of(element.shape), element.parts, strict=True)
        return Branch(element.shape, tuple(_typed(part, kinds[name]) for (name, _), part in named))
    return _typed(element, kinds["value"])


def _typed(columns: Columns, found: T.DataType | None) -> Columns:
    match columns:
        case Leaf(shape=shape, column=column):
            wanted = spark_type(shape)
            return columns if found == wanted else Leaf(shape, cast_to(column, wanted))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(_typed(part, None) for part in parts))


def violation(column: Column, shape: Shape, place: FieldPath) -> Column | None:
    """What is wrong with the values of a column, as text, and null where nothing is; ``None`` if nothing can be."""
    if isinstance(shape, OptionalOf):
        return violation(column, shape.of, evolve(place, nullable=False))
    found = _problem_inside(column, shape, place)
    if not place.nullable:
        return found
    missing = F.when(column.isNull(), F.lit(_is_null(shape, place)))
    return missing if found is None else F.coalesce(missing, found)


def _problem_inside(column: Column, shape: Shape, place: FieldPath) -> Column | None:
    """What is wrong with a value that is there."""
    match shape:
        case EnumOf(cls=cls):
            known = column.isNull() | column.isin(*cls.__members__)
            return F.when(~known, _is_no_member(column, shape, place))
        case ListOf(of=inner) | SetOf(of=inner):
            inside = place.inside("[…]" if isinstance(shape, ListOf) else "{…}")
            return F.get(F.filter(F.transform(column, lambda item: _of_item(item, inner, inside)), _there), 0)
        case RecordOf() | TupleOf():
            parts = (
                violation(column.getField(name), one, place.inside(f".{name}"))
                for name, one in parts_of(shape)
            )
            found = [one for one in parts if one is not None]
            return F.when(column.isNotNull(), F.coalesce(*found)) if found else None
        case _:
            return None


def _of_item(item: Column, shape: Shape, place: FieldPath) -> Column:
    found = violation(item, shape, place)
    return F.lit(None).cast("string") if found is None else found


def _there(value: Column) -> Column:
    return value.isNotNull()


def _is_null(shape: Shape, place: FieldPath) -> str:
    return (
        f"source {place.source!r}: a row has null in {place.path}, which must be of type {shape}; "
        f"make it {shape} | None to allow it"
    )


def _is_no_member(column: Column, shape: EnumOf, place: FieldPath) -> Column:
    names = ", ".join(shape.cls.__members__)
    rest = F.lit(f" in {place.path}, which is no member of {shape}; it must be one of {names}")
    return F.concat(F.lit(f"source {place.source!r}: a row has "), column, rest)


def require_valid(column: Column, shape: Shape, place: FieldPath) -> Column:
    """The values of a column, of which none may be null unless the shape says so."""
    value = check_values(column, shape, place)
    if isinstance(shape, OptionalOf) or not place.nullable:
        return value
    return F.ifnull(value, F.raise_error(F.lit(_is_null(shape, place))))


def check_values(column: Column, shape: Shape, place: FieldPath) -> Column:
    """The values of a column, whose nulls stay; sets are brought into their one order."""
    match shape:
        case Scalar() | MapOf():
            return column
        case OptionalOf(of=inner):
            return check_values(column, inner, place)
        case EnumOf(cls=cls):
            unknown = F.raise_error(_is_no_member(column, shape, place))
            return F.when(column.isNull() | column.isin(*cls.__members__), column).otherwise(unknown)
        case ListOf(of=inner):
            return F.transform(column, lambda item: require_valid(item, inner, place.inside("[…]")))
        case SetOf(of=inner):
            items = F.transform(column, lambda item: require_valid(item, inner, place.inside("{…}")))
            return F.sort_array(F.array_distinct(items))
        case RecordOf() | TupleOf():
            parts = (
                require_valid(column.getField(name), one, place.inside(f".{name}")).alias(name)
                for name, one in parts_of(shape)
            )
            return F.when(column.isNotNull(), F.struct(*parts))


__all__ = ["FieldPath", "check_values", "require_valid", "source_columns", "violation"]
