"""Values that come from outside, held to their shape: no null, and no name of an enum, that the shape does not allow.

What does not fit fails the query, and the message names the source, the field and what would be valid.
"""

from __future__ import annotations

from attrs import evolve, frozen
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.shapes import EnumOf, ListOf, MapOf, OptionalOf, RecordOf, Scalar, SetOf, Shape, TupleOf
from flowalg_spark.layout import Branch, Columns, Leaf, visible_element
from flowalg_spark.schema import as_type, parts_of, spark_type


@frozen
class Place:
    """A place in the records of a source, and whether its values can be null."""

    source: str
    path: str
    nullable: bool = True

    def inside(self, what: str) -> Place:
        """A place inside this one; what lies inside a column can be null whatever its schema says."""
        return evolve(self, path=f"{self.path}{what}", nullable=True)


def stored(shape: Shape, schema: T.StructType) -> Columns:
    """The columns of a source's records, unchecked, of the types that their shape has in Spark."""
    kinds = {one.name: one.dataType for one in schema.fields}
    element = visible_element(shape)
    if isinstance(element, Branch):
        named = zip(parts_of(element.shape), element.parts, strict=True)
        return Branch(element.shape, tuple(_typed(part, kinds[name]) for (name, _), part in named))
    return _typed(element, kinds["value"])


def _typed(columns: Columns, found: T.DataType | None) -> Columns:
    match columns:
        case Leaf(shape=shape, at=column):
            wanted = spark_type(shape)
            return columns if found == wanted else Leaf(shape, as_type(column, wanted))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(_typed(part, None) for part in parts))


def required(column: Column, shape: Shape, place: Place) -> Column:
    """The values of a column, of which none may be null unless the shape says so."""
    value = fitting(column, shape, place)
    if isinstance(shape, OptionalOf) or not place.nullable:
        return value
    message = (
        f"source {place.source!r}: a row has null in {place.path}, which must be a {shape}; "
        f"make it {shape} | None to allow it"
    )
    return F.ifnull(value, F.raise_error(F.lit(message)))


def fitting(column: Column, shape: Shape, place: Place) -> Column:
    """The values of a column, whose nulls stay; sets are brought into their one order."""
    match shape:
        case Scalar() | MapOf():
            return column
        case OptionalOf(of=inner):
            return fitting(column, inner, place)
        case EnumOf(cls=cls):
            names = tuple(cls.__members__)
            start = F.lit(f"source {place.source!r}: a row has ")
            rest = F.lit(
                f" in {place.path}, which is no member of {shape}; it must be one of {', '.join(names)}"
            )
            unknown = F.raise_error(F.concat(start, column, rest))
            return F.when(column.isNull() | column.isin(*names), column).otherwise(unknown)
        case ListOf(of=inner):
            return F.transform(column, lambda item: required(item, inner, place.inside("[…]")))
        case SetOf(of=inner):
            items = F.transform(column, lambda item: required(item, inner, place.inside("{…}")))
            return F.sort_array(F.array_distinct(items))
        case RecordOf() | TupleOf():
            parts = (
                required(column.getField(name), one, place.inside(f".{name}")).alias(name)
                for name, one in parts_of(shape)
            )
            return F.when(column.isNotNull(), F.struct(*parts))


__all__ = ["Place", "fitting", "required", "stored"]
