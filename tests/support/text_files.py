"""Files of text, CSV and JSON lines, with the records that they have by the contract (SEMANTICS section 2).

The texts are those on which readers differ: names of null, numbers and times at the bounds, quotes, line ends, other
encodings, fields of any depth. What a file has is known as it is written, without reading it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Final, Literal, TypeAlias, cast

from attrs import field, frozen
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from flowalg.data.time import EPOCH, MAX_TIME, MIN_TIME
from flowalg.pipeline.source import Source

Kind: TypeAlias = Literal["csv", "json"]
"""CSV with a header, or JSON lines."""


class Bad(Enum):
    """The type of ``BAD``."""

    BAD = "bad"


BAD: Final = Bad.BAD
"""In place of the value of a text that has none."""


class Hue(Enum):
    """Names in texts."""

    RED = 1
    BLUE = 2


@frozen
class TextRecord:
    """A record with a field of each scalar type; all but the event time may be missing."""

    key: str | None
    count: int | None
    value: float | None
    flag: bool | None
    data: bytes | None
    at: datetime
    until: datetime | None
    day: date | None
    lasted: timedelta | None
    amount: Decimal | None
    hue: Hue | None


TEXT_SOURCE: Final = Source("texts", TextRecord, event_time=lambda record: record.at)
"""The source of the records."""

FIELDS: Final = ("key", "count", "value", "flag", "data", "at", "until", "day", "lasted", "amount", "hue")


@frozen
class TextFile:
    """A file, and its records in order; ``BAD`` in place of a bad one."""

    kind: Kind
    data: bytes = field(repr=False)
    records: tuple[TextRecord | Bad, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.data!r}"


Cell: TypeAlias = "tuple[str, object]"
"""A text, which is JSON in JSON lines, and its value."""

_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_BITS: Final = 2**63


def text_files() -> SearchStrategy[TextFile]:
    """Returns files of both kinds."""
    return st.one_of(_csv_files(), _json_files())


def _bad(*texts: str) -> SearchStrategy[Cell]:
    return st.sampled_from([(text, BAD) for text in texts])


@st.composite
def _times(draw: DrawFn) -> Cell:
    """Returns times at any offset and with any digits, which are rounded down to microseconds."""
    when = draw(
        st.datetimes(datetime(1960, 1, 1), datetime(2100, 1, 1))
        | st.datetimes()
        | st.sampled_from([datetime.min, datetime.max])
    )
    minutes = draw(st.sampled_from([0, 0, 0, 90, -600, 1439, -1439]))
    digits = draw(st.integers(0, 9))
    fraction = f"{when.microsecond:06}{draw(st.integers(0, 999)):03}"[:digits]
    sign, hours = "+" if minutes >= 0 else "-", abs(minutes) // 60
    colon = draw(st.sampled_from(["", ":"]))
    offset = "Z" if not minutes else f"{sign}{hours:02}{colon}{abs(minutes) % 60:02}"
    space = draw(st.sampled_from("T "))
    text = f"{when.date().isoformat()}{space}{when:%H:%M:%S}{'.' if fraction else ''}{fraction}{offset}"
    naive = when.replace(microsecond=int(fraction.ljust(6, "0")[:6] or 0), fold=0)
    try:
        value = naive.replace(tzinfo=timezone(timedelta(minutes=minutes))).astimezone(UTC)
    except OverflowError:
        return text, BAD
    return text, value if _FIRST <= value <= _LAST else BAD


_times_or_bad: Final = st.one_of(
    _times(),
    _times(),
    _bad(
        "2024-01-01T12:00:00",
        "2024-01-01",
        "noon",
        "0000-06-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T12:00:00z",
        "2024-01-01T12:00:00.Z",
        " 2024-01-01T12:00:00Z",
        "10000-01-01T00:00:00Z",
        "2024-01-01T12:00:00+24:00",
    ),
)


@st.composite
def _decimals(draw: DrawFn) -> Cell:
    places = draw(st.integers(0, 19))
    number = draw(st.integers(-(10**21), 10**21))
    value = Decimal(number).scaleb(-places)
    text = draw(st.sampled_from([format(value, "f"), f"{number}e-{places}"]))
    fits = -(10**20) < value < 10**20 and (places <= 18 or number % 10 == 0)
    return text, value if fits else BAD


_integers: Final = st.one_of(
    st.integers(-_BITS, _BITS - 1), st.integers(-3, 3), st.sampled_from([_BITS, -_BITS - 1])
).map(lambda number: (str(number), number if -_BITS <= number < _BITS else BAD))
_floats: Final = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: (repr(number), number)),
    st.integers(-(2**70), 2**70).map(lambda number: (str(number), float(number))),
    st.sampled_from([("1e-400", 0.0), ("0.1e1", 1.0)]),
    _bad("9" * 400, "1e400", "x", "-", "1..2", "0x1F", "1_0"),
)
_days: Final = st.one_of(
    st.dates().map(lambda day: (day.isoformat(), day)),
    _bad("2024-2-1", "20240201", "0000-01-01", "2023-02-29", "10000-01-01", "2024-01-01T00:00:00Z"),
)
_blobs: Final = st.sampled_from([("YWI=", b"ab"), ("YQ==", b"a"), ("YWI", BAD), ("?", BAD)])
_hues: Final = st.sampled_from([("RED", Hue.RED), ("BLUE", Hue.BLUE), ("red", BAD), ("1", BAD)])
_durations: Final = st.one_of(
    st.integers(-(10**15), 10**15).map(lambda number: (str(number), timedelta(microseconds=number))),
    _bad("1.5", "PT1S"),
)
_texts: Final = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(
        [
            "NA",
            "null",
            "nan",
            "None",
            "true",
            "5",
            "",
            " ",
            "a,b",
            'a"b',
            '6"',
            '"',
            "a\nb",
            "a\r\nb",
            "a\u2028b",
        ]
    ),
    st.sampled_from(["a\x85b", "caf\xe9", "\U0001f600", "\\", "\\N", "#", "'", "\ufeff", "\0", "x" * 2_000]),
)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


# CSV


def _csv_text(text: str) -> SearchStrategy[Cell]:
    needs = not text or text.startswith('"') or any(mark in text for mark in ",\r\n")
    return st.just((_quoted(text), text)) if needs else st.sampled_from([(text, text), (_quoted(text), text)])


_CSV_CELLS: Final[Mapping[str, SearchStrategy[Cell]]] = {
    "key": _texts.flatmap(_csv_text),
    "count": st.one_of(
        _integers,
        st.sampled_from([("+7", 7), ("007", 7), ("-0", 0)]),
        _bad("1.0", "1e2", "x", " 5", "5 ", "0x1F", "1_0", "٣", "NA", "9" * 5_000),
    ),
    "value": st.one_of(
        _floats,
        st.sampled_from(
            [("nan", float("nan")), ("-Inf", float("-inf")), (".5", 0.5), ("5.", 5.0), ("+1", 1.0)]
        ),
        _bad("NA", "null", "nan(1)", " 1"),
    ),
    "flag": st.sampled_from([("true", True), ("FALSE", False), ("1", True), ("yes", BAD), ("t", BAD)]),
    "data": _blobs,
    "at": _times_or_bad,
    "until": _times_or_bad,
    "day": _days,
    "lasted": _durations,
    "amount": st.one_of(_decimals(), _bad("NaN", "x", "1,5", "1e999999999999")).map(
        lambda cell: ("x" if "," in cell[0] else cell[0], cell[1])
    ),
    "hue": _hues,
}
_PLAIN: Final = st.sampled_from([("abc", "abc"), ('"a b"', "a b"), ('"a,b"', "a,b"), ('""', "")])


@st.composite
def _csv_files(draw: DrawFn) -> TextFile:
    """Returns files whose columns have any order, among others; some have lines with quotes that do not pair up."""
    names = draw(st.permutations([*FIELDS, *draw(st.sampled_from([(), ("x",), ("x", "x", "")]))]))
    stray = draw(st.integers(0, 3)) == 0
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    lines: list[bytes] = [",".join(_quoted(name) if draw(st.booleans()) else name for name in names).encode()]
    records: list[TextRecord | Bad] = []
    for _ in range(draw(st.integers(0, 5))):
        shape = draw(
            st.sampled_from(["row"] * 8 + ["short", "long", "latin", "blank", "stray" if stray else "row"])
        )
        if shape == "blank":
            lines.append(b"")
            continue
        simple = stray or shape in ("short", "long")
        cells, values = [], {}
        for name in names:
            text, value = draw(_csv_cell(name, simple))
            cells.append(text)
            values[name] = value
        record = _record(values)
        if shape == "short":
            cells.pop()
        elif shape == "long":
            cells.append("1")
        elif shape == "stray":
            cells[0] = '"abc'
        line = ",".join(cells).encode()
        lines.append(line + b"\xe9" if shape == "latin" and not line.endswith(b'"') else line)
        fails = shape in ("short", "long", "stray") or lines[-1] is not line
        records.append(BAD if fails else record)
    return TextFile("csv", draw(_joined(lines, end.encode())), tuple(records))


def _csv_cell(name: str, simple: bool) -> SearchStrategy[Cell]:
    if name == "key" and simple:
        return _PLAIN | st.just(("", None))
    if name not in FIELDS:
        return st.sampled_from([("", None), ("1", None), ("x", None)])
    cell = _CSV_CELLS[name]
    if name == "at":
        return cell
    return st.one_of(st.just(("", None)), cell, cell)


# JSON lines


def _as_json(cells: SearchStrategy[Cell]) -> SearchStrategy[Cell]:
    return st.tuples(cells, st.booleans()).map(
        lambda pair: (json.dumps(pair[0][0], ensure_ascii=pair[1]), pair[0][1])
    )


def _json_number(cell: Cell) -> Cell:
    """Returns a number as JSON has it, or a text that is none."""
    text, value = cell
    try:
        json.loads(text, parse_int=str)
    except ValueError:
        return json.dumps(text), BAD
    return text, value


_JSON_CELLS: Final[Mapping[str, SearchStrategy[Cell]]] = {
    "key": st.one_of(
        _as_json(_texts.map(lambda text: (text, text))), _bad("5", "true", "[]", '"\\ud800"', '{"a":1}')
    ),
    "count": st.one_of(_integers, _bad("1.0", "1e2", '"1"', "true", "[]", "NaN", "9" * 5_000)),
    "value": st.one_of(
        _floats.map(_json_number),
        st.sampled_from([("NaN", float("nan")), ("-Infinity", float("-inf")), ('"NaN"', float("nan"))]),
        _bad('"1.5"', '"nan"', "true", "[1]"),
    ),
    "flag": st.sampled_from([("true", True), ("false", False), ("1", BAD), ('"true"', BAD)]),
    "data": _as_json(_blobs),
    "at": st.one_of(_as_json(_times_or_bad), _as_json(_times()), _bad("5")),
    "until": st.one_of(_as_json(_times_or_bad), _bad("5", "[]")),
    "day": st.one_of(_as_json(_days), _bad("5")),
    "lasted": st.one_of(_durations.map(_json_number), _bad('"5"', "1.5")),
    "amount": st.one_of(
        st.tuples(_decimals(), st.booleans()).map(
            lambda pair: (pair[0][0] if pair[1] else json.dumps(pair[0][0]), pair[0][1])
        ),
        _bad('"NaN"', '"x"', "true", "1e20"),
    ),
    "hue": st.one_of(_as_json(_hues), _bad("1")),
}
_UNKNOWN: Final = st.one_of(
    st.sampled_from(['"x":1', '"x":"a"', '"x":{"y":[1,"a",null]}', '"x":NaN', '"x":1e999', '"\\ud800":[]']),
    st.integers(1, 1_500).map(lambda depth: f'"x":{"[" * depth}{"]" * depth}'),
    st.integers(1, 1_500).map(lambda depth: f'"x":{chr(123)}"at":{"[" * depth}{"]" * depth}{chr(125)}'),
)
_NO_OBJECTS: Final = st.sampled_from(
    ["null", "[]", "5", '"a"', "{", "}", "{}{}", '{"key":"a",}', "nope", "{'key':1}"]
)


@st.composite
def _json_files(draw: DrawFn) -> TextFile:
    """Returns files whose objects have any fields, in any order, among others of any type and depth."""
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines: list[bytes] = []
    records: list[TextRecord | Bad] = []
    for _ in range(draw(st.integers(0, 6))):
        shape = draw(st.sampled_from(["row"] * 8 + ["cut", "latin", "blank", "twice", "none"]))
        if shape == "blank":
            lines.append(draw(st.sampled_from([b"", b" \t"])))
            continue
        if shape == "none":
            lines.append(draw(_NO_OBJECTS).encode())
            records.append(BAD)
            continue
        values: dict[str, object] = {}
        pairs = []
        for name in draw(st.permutations(FIELDS)):
            text, value = draw(_json_cell(name))
            values[name] = value
            pairs += [f'"{name}":{text}'] if text else []
        pairs += draw(st.lists(_UNKNOWN, max_size=2))
        if shape == "twice":
            pairs.append('"at":null')
        line = (draw(st.sampled_from(["{%s}", " { %s }"])) % ", ".join(draw(st.permutations(pairs)))).encode()
        if shape == "cut":
            line = line[: draw(st.integers(2, len(line) - 1))].rstrip()
        elif shape == "latin":
            line = line.replace(b"}", b', "key2": "\xe9"}', 1) if line.count(b"}") == 1 else line + b"\xe9"
        lines.append(line)
        records.append(_record(values) if shape == "row" else BAD)
    return TextFile("json", draw(_joined(lines, end.encode())), tuple(records))


def _json_cell(name: str) -> SearchStrategy[Cell]:
    cell = _JSON_CELLS[name]
    if name == "at":
        return cell
    return st.one_of(st.sampled_from([("", None), ("null", None)]), cell, cell)


@st.composite
def _joined(draw: DrawFn, lines: list[bytes], end: bytes) -> bytes:
    mark = b"\xef\xbb\xbf" if draw(st.integers(0, 4)) == 0 else b""
    return mark + end.join(lines) + (end if draw(st.booleans()) else b"")


def _record(values: Mapping[str, object]) -> TextRecord | Bad:
    """Returns the record of values, if all are good and a window can contain its event time."""
    at = values["at"]
    if any(values[name] is BAD for name in FIELDS) or not isinstance(at, datetime):
        return BAD
    if not MIN_TIME <= (at - EPOCH) // timedelta(microseconds=1) < MAX_TIME:
        return BAD
    # The strategies of the cells have the types of the fields.
    make = cast("Callable[..., TextRecord]", TextRecord)
    return make(**{name: values[name] for name in FIELDS})
