"""The table of changes of programs in ``docs/state.md``: what becomes of the state of each, with an example."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from attrs import evolve, frozen

from flowalg import Accumulation, AtCount, AtWatermark, Count, FixedWindows, Mean, Min, Repeat, Sum
from tests.differential.evolution import (
    INNER,
    INT,
    KIND,
    NUMBER,
    TEXT,
    Changed,
    Deployment,
    Kind,
    LongerInner,
    MoreKinds,
    OtherKinds,
)
from tests.support.versions import MINUTE, Field, Settings, Version

SETTINGS: Final = Settings(
    Accumulation.RETRACTING, Repeat(AtCount(1)), 60 * MINUTE, FixedWindows(MINUTE), (Mean(),)
)
NAME: Final = Field("name", *TEXT)
AMOUNT: Final = Field("amount", *INT)


@frozen
class Row:
    """A row of the table: a change, whether the query continues, and how, or what would make it possible."""

    change: str
    continues: bool
    how: str
    case: Changed

    def __str__(self) -> str:
        return f"| {self.change} | {'continues' if self.continues else 'rejected'} | {self.how} |"


def _of_fields(
    change: str,
    continues: bool,
    how: str,
    before: Field | tuple[Field, ...],
    after: Field | tuple[Field, ...],
    *,
    place: str = "lists",
    **version: Any,  # noqa: ANN401  # of Version
) -> Row:
    """Returns the row of a change of the record class."""
    old, new = (fields if isinstance(fields, tuple) else (NUMBER, fields) for fields in (before, after))
    deployments = Deployment(Version(old), SETTINGS), Deployment(Version(new, **version), SETTINGS)
    return Row(change, continues, how, Changed(place, *deployments, 2, 1, exact=True))


def _of_settings(
    change: str, continues: bool, how: str, before: Settings, after: Settings, *, exact: bool = True
) -> Row:
    """Returns the row of a change of the pipeline."""
    version = Version((NUMBER,))
    deployments = Deployment(version, before), Deployment(version, after)
    return Row(change, continues, how, Changed("combiners", *deployments, 2, 1, exact))


def _with(**changes: Any) -> Settings:  # noqa: ANN401  # of Settings
    return evolve(SETTINGS, **changes)


def _constant(value: Any) -> Callable[[int], Any]:  # noqa: ANN401
    return lambda n: value


ADDED: Final = Field("note", str | None, _constant(None), None)
REQUIRED: Final = Field("note", str, _constant("x"))
LONGER: Final = Field("part", LongerInner, lambda n: LongerInner("x", float(n % 3)))

ROWS: Final = (
    _of_fields(
        "a field with a default is added", True, "old values have the default", (NUMBER,), (NUMBER, ADDED)
    ),
    _of_fields(
        "a field without a default is added",
        False,
        "give it a default, or use `evolves`",
        (NUMBER,),
        (NUMBER, REQUIRED),
    ),
    _of_fields("a field is removed", True, "it is left out", (NUMBER, NAME), (NUMBER,)),
    _of_fields(
        "a field is removed from the items of a `ToSet`, or from values that are retracted one by one",
        False,
        "different values must stay different",
        (NUMBER, NAME),
        (NUMBER,),
        place="sets",
    ),
    _of_fields(
        "a field has another name",
        True,
        '`Annotated[int, RenamedFrom("amount")]`',
        AMOUNT,
        evolve(AMOUNT, name="total", earlier="amount"),
    ),
    _of_fields(
        "the same without `RenamedFrom`",
        False,
        "it may also be another field",
        AMOUNT,
        evolve(AMOUNT, name="total", default=0),
    ),
    _of_fields(
        "fields have another order",
        True,
        "fields are known by name",
        (NUMBER, NAME),
        (NAME, NUMBER),
        place="states",
    ),
    _of_fields(
        "fields of values that are compared have another order (`Min`, `Max`, `TopN`, sets)",
        False,
        "their order would change",
        (NUMBER, NAME),
        (NAME, NUMBER),
        place="the greatest",
    ),
    _of_fields(
        "`int` becomes `float`",
        True,
        "if it has the number exactly; otherwise the start is rejected",
        AMOUNT,
        evolve(AMOUNT, type=float, value=lambda n: float(n % 4)),
    ),
    _of_fields(
        "`int` becomes `Decimal`",
        True,
        "",
        AMOUNT,
        evolve(AMOUNT, type=Decimal, value=lambda n: Decimal(n % 4)),
    ),
    _of_fields(
        "`float` becomes `int`, or any other change of a type",
        False,
        "use `evolves`",
        evolve(AMOUNT, type=float, value=float),
        AMOUNT,
    ),
    _of_fields("`T` becomes `T \\| None`", True, "", NAME, evolve(NAME, type=str | None), place="keys"),
    _of_fields("`T \\| None` becomes `T`", False, "use `evolves`", evolve(NAME, type=str | None), NAME),
    _of_fields("`T` becomes `T \\| U`", True, "", AMOUNT, evolve(AMOUNT, type=int | str)),
    _of_fields(
        "a union has one more member",
        True,
        "",
        evolve(AMOUNT, type=int | str),
        evolve(AMOUNT, type=int | str | list[int]),
    ),
    _of_fields(
        "a union has one member less",
        False,
        "state may have values of it",
        evolve(AMOUNT, type=int | str | list[int]),
        evolve(AMOUNT, type=int | str),
    ),
    _of_fields(
        "an enumeration has one more member",
        True,
        "",
        Field("kind", *KIND),
        Field("kind", MoreKinds, _constant(MoreKinds.LOW)),
    ),
    _of_fields(
        "a member of an enumeration is removed, or has another name or value",
        False,
        "state may have it",
        Field("kind", Kind, _constant(Kind.LOW)),
        Field("kind", OtherKinds, _constant(OtherKinds.LOW)),
    ),
    _of_fields(
        "a record inside another one changes",
        True,
        "as the record itself",
        Field("part", *INNER),
        LONGER,
        place="a join",
    ),
    _of_fields(
        "a class has another name, or is in another module",
        True,
        "",
        (NUMBER, NAME),
        (NUMBER, NAME),
        name="Thing",
    ),
    _of_fields(
        "the same of a class whose objects are in an accumulator or a state of unknown type",
        True,
        '`@RenamedFrom("shop:Item")` on the class',
        (NUMBER, NAME),
        (NUMBER, NAME),
        place="accumulators",
        name="Thing",
        renamed_from="Item",
    ),
    _of_fields(
        "the same without `RenamedFrom`",
        False,
        "the class is not found",
        (NUMBER, NAME),
        (NUMBER, NAME),
        place="accumulators",
        name="Thing",
    ),
    _of_fields(
        "objects in an accumulator in Python have one more field with a default",
        True,
        "",
        (NUMBER, NAME),
        (NUMBER, NAME, ADDED),
        place="accumulators",
    ),
    _of_fields(
        "a field of a key has another name, with `RenamedFrom`",
        True,
        "its hash is the same",
        AMOUNT,
        evolve(AMOUNT, name="total", earlier="amount"),
        place="keys",
    ),
    _of_fields(
        "a key has one field more or less, or another type than `T \\| None` for `T`",
        False,
        "it would have another hash, and so another shard",
        (NUMBER,),
        (NUMBER, ADDED),
        place="keys",
    ),
    _of_fields(
        "`evolves(Old, State, function)`",
        True,
        "the function makes the new state of a computation",
        AMOUNT,
        evolve(AMOUNT, type=str, value=lambda n: f"{n} euros"),
        place="states",
        converts=(NUMBER, AMOUNT),
    ),
    _of_fields(
        "`evolves(Old, Item, function)`",
        True,
        "the same of values in lists, joins and accumulators, and of elements that wait",
        AMOUNT,
        evolve(AMOUNT, type=str, value=lambda n: f"{n} euros"),
        place="elements that wait",
        converts=(NUMBER, AMOUNT),
    ),
    _of_settings(
        "a combiner of several is removed",
        True,
        "",
        _with(combiners=(Sum(), Count())),
        _with(combiners=(Sum(),)),
    ),
    _of_settings(
        "combiners have another order",
        True,
        "if they are different ones",
        _with(combiners=(Sum(), Count())),
        _with(combiners=(Count(), Sum())),
    ),
    _of_settings(
        "`Count` is added to `Mean`, `ToList` or values that are retracted",
        True,
        "these know the number of elements",
        _with(combiners=(Mean(),), accumulation=Accumulation.ACCUMULATING),
        _with(combiners=(Mean(), Count()), accumulation=Accumulation.ACCUMULATING),
    ),
    _of_settings(
        "another combiner is added",
        False,
        "the state does not have what it would have of earlier elements; add it as an output of its own",
        _with(combiners=(Sum(),)),
        _with(combiners=(Sum(), Min())),
    ),
    _of_settings(
        "a second combiner of the same kind is added",
        False,
        "it is ambiguous which of them continues",
        _with(combiners=(Sum(),)),
        _with(combiners=(Sum(), Sum())),
    ),
    _of_settings(
        "other numbers in the trigger", True, "", SETTINGS, _with(trigger=Repeat(AtCount(2))), exact=False
    ),
    _of_settings(
        "another trigger",
        True,
        "it observes the elements from then on; pending changes are in its first pane",
        SETTINGS,
        _with(trigger=AtWatermark().with_late_firings(AtCount(1))),
        exact=False,
    ),
    _of_settings("a longer allowed lateness", True, "", SETTINGS, _with(lateness=120 * MINUTE), exact=False),
    _of_settings(
        "a shorter allowed lateness",
        False,
        "its windows would have dropped elements",
        SETTINGS,
        _with(lateness=MINUTE),
    ),
    _of_settings(
        "other windows", False, "elements are not kept", SETTINGS, _with(windows=FixedWindows(2 * MINUTE))
    ),
    _of_settings(
        "another accumulation mode",
        False,
        "the state has what that of the other mode has not",
        SETTINGS,
        _with(accumulation=Accumulation.DISCARDING),
    ),
)

TABLE: Final = "\n".join(["| change | the query | |", "| --- | --- | --- |", *map(str, ROWS)])
