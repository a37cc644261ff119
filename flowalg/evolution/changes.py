"""Evolutions: what makes values of a new type out of those of an old structure, decided before any value is read.

``evolution`` is a pure function of both. Laws: a type evolves to itself by ``SAME``; and what an evolution
makes of a value is what a program would have had that always had the new type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, assert_never

from attrs import frozen

from flowalg.data.class_marks import class_named
from flowalg.data.errors import CheckpointError, RecordTypeError
from flowalg.data.kv import KV
from flowalg.data.record_classes import CONTAINERS
from flowalg.data.shapes import (
    DECIMAL,
    FLOAT,
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
    optional,
    shape_of,
)
from flowalg.evolution.declared import declared_of, defaults_of, earlier_names
from flowalg.evolution.structure import (
    ENUM,
    LIST,
    MAP,
    MAYBE,
    OPTIONAL,
    RECORD,
    STORED,
    SUM,
    TUPLE,
    UNKNOWN_TYPE,
    Structure,
    fields_of,
    structure_of,
    structure_of_class,
)


@frozen
class Same:
    """The value itself."""


@frozen
class Widened:
    """The same number as a ``float`` or ``Decimal``, which must have it exactly."""

    to: Scalar


@frozen
class Present:
    """An evolution of a value that is not missing."""

    of: Evolution


@frozen
class Each:
    """An evolution of each item of a list, set or mapping."""

    of: Evolution


@frozen
class Part:
    """A part of a new value: the evolution of the old part ``before``, or a value of a type if there was none."""

    name: str
    before: str | None
    change: Evolution
    shape: Shape | None = None
    default: object = None


@frozen
class Parts:
    """A record of a class, a tuple, or an entry of a mapping, of the parts of the old one.

    ``left_out`` are the old parts that it does not have; ``moved`` is whether the others have another order.
    """

    cls: type | None
    parts: tuple[Part, ...]
    left_out: tuple[str, ...] = ()
    moved: bool = False


@frozen
class Members:
    """A value of a sum, of one of the members that the old sum had; the members have the shapes of columns."""

    members: tuple[Part, ...]


@frozen
class AsMember:
    """A value that is now a member of a sum: the name of the member, and all names with their shapes."""

    name: str
    of: Evolution
    members: tuple[tuple[str, Shape], ...]


@frozen
class Applied:
    """What a function of ``evolves`` returns for a value of an old shape."""

    old: Shape
    new: RecordOf
    function: Callable[[Any], object]


Evolution: TypeAlias = Same | Widened | Present | Each | Parts | Members | AsMember | Applied

SAME: Final = Same()


class NoEvolutionError(CheckpointError):
    """A structure does not evolve to a type: ``reasons`` say why, and what would make it possible."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


def _inner(change: Evolution) -> tuple[Evolution, ...]:
    """Returns the evolutions that one is made of."""
    match change:
        case Present(of=of) | Each(of=of) | AsMember(of=of):
            return (of,)
        case Parts(parts=parts) | Members(members=parts):
            return tuple(part.change for part in parts)
        case Same() | Widened() | Applied():
            return ()
    assert_never(change)


def _everywhere(change: Evolution, holds: Callable[[Evolution], bool]) -> bool:
    """Returns whether something holds of an evolution and of all that it is made of."""
    return holds(change) and all(_everywhere(inner, holds) for inner in _inner(change))


def is_injective(change: Evolution) -> bool:
    """Returns whether different values stay different."""
    return _everywhere(
        change,
        lambda each: not isinstance(each, Applied) and not (isinstance(each, Parts) and each.left_out),
    )


def keeps_order(change: Evolution) -> bool:
    """Returns whether new values are ordered as the old ones are, and are different if these are."""
    return is_injective(change) and _everywhere(
        change, lambda each: not (isinstance(each, Parts) and each.moved)
    )


def keeps_hash(change: Evolution) -> bool:
    """Returns whether new values have the hashes of the old ones, and their order."""
    return keeps_order(change) and _everywhere(
        change,
        lambda each: (
            not isinstance(each, Widened)
            and not (isinstance(each, Parts) and any(part.before is None for part in each.parts))
        ),
    )


def is_of_classes(change: Evolution) -> bool:
    """Returns whether only objects of record classes change, wherever they are in a value."""
    match change:
        case Widened():
            return False
        case Applied(old=old):
            return isinstance(old, RecordOf)
        case Parts(cls=cls) if cls is not None and cls is not KV and cls not in CONTAINERS:
            return True
        case _:
            return all(map(is_of_classes, _inner(change)))


def evolution(before: Structure, now: Shape, where: str = "") -> Evolution:
    """Returns what makes values of a type out of those of a structure.

    ``where`` names the place of the type in messages. Raises ``NoEvolutionError`` with all reasons if there is nothing.

    Example:

    >>> from flowalg.data.shapes import shape_of
    >>> print(evolution(structure_of(shape_of(int)), shape_of(float)))
    Widened(to=Scalar(python=<class 'float'>, name='float'))
    """
    if before == structure_of(now):
        return SAME
    applied = _declared(before, now)
    if applied is not None:
        return applied
    place = where or _short(now)
    match now:
        case OptionalOf(of=inner):
            if before.kind == OPTIONAL:
                return _of(Present, evolution(before.of, inner, where))
            return evolution(before, inner, where)
        case MaybeOf(of=inner) if before.kind == MAYBE:
            return _of(Present, evolution(before.of, inner, where))
        case SumOf():
            return _of_sum(before, now, place)
        case Scalar() if before.kind == "int" and now in (FLOAT, DECIMAL):
            return Widened(now)
        case EnumOf(cls=cls) if before.kind == ENUM:
            return _of_enum(before, cls, place)
        case ListOf(of=inner) if before.kind == LIST:
            return _of(Each, evolution(before.of, inner, f"{place}[…]"))
        case SetOf(of=inner) if before.kind == structure_of(now).kind:
            change = evolution(before.of, inner, f"{place}{{…}}")
            if not keeps_order(change):
                raise NoEvolutionError([_changed(place, before, now, "the items of a set keep their order")])
            return _of(Each, change)
        case MapOf(key=key, value=value) if before.kind == MAP:
            parts = [(".keys()", key), (".values()", value)]
            return _of_map(before, parts, place)
        case TupleOf(items=items) if before.kind == TUPLE and len(before.parts) == len(items):
            return _of_parts(before, None, [(f"_{i}", item) for i, item in enumerate(items, start=1)], place)
        case RecordOf(cls=cls, fields=fields) if before.kind == RECORD:
            return _of_record(before, cls, [(field.name, field.shape) for field in fields], place)
        case _:
            raise NoEvolutionError([_changed(place, before, now)])


def _short(shape: Shape) -> str:
    return shape.cls.__name__ if isinstance(shape, RecordOf | EnumOf) else "it"


def _changed(place: str, before: Structure, now: Shape, why: str = "") -> str:
    reason = f"{place} was {before} and is now {structure_of(now)}"
    return f"{reason}, and {why}" if why else reason


def _of(make: Callable[[Evolution], Evolution], change: Evolution) -> Evolution:
    return SAME if change == SAME else make(change)


def _declared(before: Structure, now: Shape) -> Applied | None:
    """Returns the function of ``evolves`` for values of a structure, or the composition of several."""
    if not isinstance(now, RecordOf):
        return None
    declared = declared_of(now.cls)
    for matches in (_equal, _equal_but_for_the_name):
        for each in declared:
            if matches(before, structure_of(each.old)):
                return Applied(each.old, now, each.function)
    for each in declared:
        first = _declared(before, each.old)
        if first is not None:
            return Applied(first.old, now, _Composed(first.function, each.function))
    return None


@frozen
class _Composed:
    """A function after another one."""

    first: Callable[[Any], object]
    second: Callable[[Any], object]

    def __call__(self, value: object) -> object:
        return self.second(self.first(value))


def _equal(before: Structure, old: Structure) -> bool:
    return before == old


def _equal_but_for_the_name(before: Structure, old: Structure) -> bool:
    return before.kind == old.kind == RECORD and before.parts == old.parts


def _all(changes: Iterable[Callable[[], Part]]) -> tuple[Part, ...]:
    """Returns the parts; raises ``NoEvolutionError`` with the reasons of all that have none."""
    parts, reasons = list[Part](), list[str]()
    for change in changes:
        try:
            parts.append(change())
        except NoEvolutionError as error:
            reasons += error.reasons
    if reasons:
        raise NoEvolutionError(reasons)
    return tuple(parts)


def _of_enum(before: Structure, cls: type[Enum], place: str) -> Evolution:
    members = dict(structure_of_class(cls).parts)
    gone = [name for name, value in before.parts if members.get(name) != value]
    if gone:
        raise NoEvolutionError(
            [
                f"{place} was {before} and is now {structure_of_class(cls)}: keep {', '.join(gone)}, which state may "
                "have"
            ]
        )
    return SAME


def _of_sum(before: Structure, now: SumOf, place: str) -> Evolution:
    members = tuple((member.name, optional(member.shape)) for member in now.members)
    if before.kind == SUM:
        old = dict(before.parts)
        gone = [name for name in old if name not in dict(members)]
        if gone:
            raise NoEvolutionError(
                [
                    _changed(
                        place,
                        before,
                        now,
                        f"state may have values of {', '.join(gone)}: keep them as members",
                    )
                ]
            )

        def part(name: str, shape: Shape) -> Part:
            if name not in old:
                return Part(name, None, SAME, shape)
            return Part(
                name,
                name,
                evolution(Structure(OPTIONAL, (("", old[name]),)), shape, f"{place}.{name}"),
                shape,
            )

        return Members(_all(_bind(part, name, shape) for name, shape in members))
    for member in now.members:
        if before in (structure_of(member.shape), UNKNOWN_TYPE) or (
            isinstance(member.shape, RecordOf) and before.name == member.shape.cls.__name__
        ):
            return AsMember(member.name, evolution(before, member.shape, place), members)
    raise NoEvolutionError([_changed(place, before, now)])


def _bind(part: Callable[[str, Any], Part], name: str, shape: Any) -> Callable[[], Part]:  # noqa: ANN401
    return lambda: part(name, shape)


def _of_map(before: Structure, parts: Sequence[tuple[str, Shape]], place: str) -> Evolution:
    (_, old_key), (_, old_value) = before.parts
    (of_key, key), (of_value, value) = parts
    change = evolution(old_key, key, place + of_key)
    if not keeps_order(change):
        raise NoEvolutionError([_changed(place + of_key, old_key, key, "keys of a mapping keep their order")])
    entry = Part("value", "value", evolution(old_value, value, place + of_value), value)
    return Each(Parts(None, (Part("key", "key", change, key), entry)))


def _of_parts(
    before: Structure, cls: type | None, now: Sequence[tuple[str, Shape | None]], place: str
) -> Evolution:
    old = dict(before.parts)

    def part(name: str, shape: Shape | None) -> Part:
        return Part(name, name, _of_part(old[name], shape, f"{place}.{name}"), shape)

    return Parts(cls, _all(_bind(part, name, shape) for name, shape in now))


def _of_part(before: Structure, now: Shape | None, place: str) -> Evolution:
    """Returns the evolution of a part, whose type may be unknown: then its values are taken as they are."""
    return SAME if now is None or before == UNKNOWN_TYPE else evolution(before, now, place)


def _of_record(
    before: Structure, cls: type, now: Sequence[tuple[str, Shape | None]], place: str
) -> Evolution:
    old, defaults, names = dict(before.parts), defaults_of(cls), earlier_names(cls)
    sources = {name: _source(name, old, names.get(name, ())) for name, _ in now}
    left_out = tuple(name for name in old if name not in sources.values())
    added = [(name, shape) for name, shape in now if sources[name] is None]
    for name, shape in added:
        if any(_evolves(old[gone], shape) for gone in left_out):
            raise NoEvolutionError([_unclear(before, cls, name, left_out, place)])

    def part(name: str, shape: Shape | None) -> Part:
        source = sources[name]
        if source is not None:
            return Part(name, source, _of_part(old[source], shape, f"{place}.{name}"), shape)
        if name not in defaults:
            raise NoEvolutionError(
                [
                    f"{place} was {before} and is now {structure_of_class(cls)}: {name} is new and has no "
                    f"default; give it one, or declare evolves(..., {cls.__name__}, ...)"
                ]
            )
        return Part(name, None, SAME, shape, defaults[name])

    parts = _all(_bind(part, name, shape) for name, shape in now)
    kept = [part.before for part in parts if part.before is not None]
    return Parts(cls, parts, left_out, moved=kept != [name for name in old if name in kept])


def _source(name: str, old: dict[str, Structure], earlier: tuple[str, ...]) -> str | None:
    """Returns the name of the old field of a field: its own, or an earlier one."""
    return next((candidate for candidate in (name, *earlier) if candidate in old), None)


def _unclear(before: Structure, cls: type, name: str, left_out: Sequence[str], place: str) -> str:
    gone = ", ".join(left_out)
    return (
        f"{place} was {before} and is now {structure_of_class(cls)}: whether {name} is {gone} with another name is "
        f"unclear; if it is, annotate {name} with RenamedFrom({left_out[0]!r}), otherwise add and remove fields in two "
        f"steps, or declare evolves(..., {cls.__name__}, ...)"
    )


def _evolves(before: Structure, now: Shape | None) -> bool:
    try:
        _of_part(before, now, "")
    except NoEvolutionError:
        return False
    return True


def evolution_of_class(name: str, before: Structure) -> Evolution:
    """Returns the evolution of objects of a class, which state has as they are under the name of their class.

    Raises ``NoEvolutionError`` for a class that the program does not have, and as ``evolution`` does.
    """
    cls = class_named(name)
    if cls is None:
        raise NoEvolutionError(
            [
                f"it has objects of the class {name}, {before}, which is not found; import it, or decorate the class "
                f"that it is now with @RenamedFrom({name!r})"
            ]
        )
    now = structure_of_class(cls)
    if before == now:
        return SAME
    if before.kind != now.kind or STORED in (before.kind, now.kind):
        raise NoEvolutionError([f"objects of the class {name} were {before} and are now {now}"])
    if issubclass(cls, Enum):
        return _of_enum(before, cls, cls.__name__)
    try:
        return evolution(before, shape_of(cls))
    except RecordTypeError:
        return _of_record(before, cls, fields_of(cls), cls.__name__)
