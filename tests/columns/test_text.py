"""The reader of text: one meaning, however many texts are read at once.

The tests catch a reader at once that differs from the exact one, and a text that is read as another value.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum

import pyarrow as pa
import pytest
from attrs import frozen
from flowalg_columns.text.csv_files import BadFileError, CSVFile
from flowalg_columns.text.dividing import BadTextError, ReadTexts, table_of
from flowalg_columns.text.files import FileRows, read_file
from flowalg_columns.text.json_objects import read_object, read_objects
from flowalg_columns.text.scalars import read_scalar, read_scalars
from hypothesis import example, given
from hypothesis import strategies as st

from flowalg.data.shapes import EnumOf, RecordOf, Scalar, Shape, optional, required, shape_of
from flowalg.data.time import EPOCH


class Color(Enum):
    """Names in texts."""

    RED = 1
    BLUE = 2


@frozen
class Inner:
    """A record in a record."""

    at: datetime
    name: str | None


@frozen
class Everything:
    """A record with each scalar, and with values inside of values."""

    key: str
    count: int
    value: float | None
    flag: bool
    data: bytes
    at: datetime
    day: date
    lasted: timedelta
    amount: Decimal
    color: Color
    times: list[datetime]
    inner: Inner
    pair: tuple[str, int] | None


SHAPE = shape_of(Everything)
assert isinstance(SHAPE, RecordOf)
FIELDS: list[tuple[str, Shape]] = [(field.name, optional(field.shape)) for field in SHAPE.fields]
CELLS = [(name, shape) for name, shape in FIELDS if isinstance(required(shape), Scalar | EnumOf)]
SCALARS = [shape for _, shape in CELLS if isinstance(required(shape), Scalar)]
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)

numbers = st.from_regex(r"[+-]?[0-9]{0,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
times = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9](:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?)?)?"
    r"(Z|z|[+-][0-2][0-9](:?[0-6][0-9])?)?",
    fullmatch=True,
)
words = st.one_of(
    st.sampled_from(
        ["NA", "null", "nan", "NaN", "-nan", "inf", "-Infinity", "nan(1)", "true", "TRUE", "1", "0"]
    ),
    st.sampled_from(
        ["0x1F", "007", "1_0", "٣", "YWI=", "RED", "", " ", "5 ", "0000-01-01", "1e30", "9" * 21]
    ),
    st.sampled_from(["9999-12-31T23:59:59-10:00", "0001-01-01T00:00Z", "9" * 400, "9" * 5_000]),
)
texts = st.one_of(numbers, times, words, st.text(max_size=4))


def micros(when: datetime) -> int:
    """Returns the microseconds since the epoch."""
    return (when - EPOCH) // timedelta(microseconds=1)


@given(st.sampled_from(SCALARS), st.lists(st.none() | texts, max_size=4))
def test_a_column_of_texts_has_the_values_of_its_texts(shape: Shape, column: list[str | None]) -> None:
    """Texts that are read at once have the values that each of them has alone."""
    kind = required(shape)
    assert isinstance(kind, Scalar)
    values = read_scalars(pa.array(column, pa.string()), kind)
    if values is not None:
        alone = [None if text is None else read_scalar(text, kind) for text in column]
        assert repr(values.to_pylist()) == repr(pa.array(alone, values.type).to_pylist())


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (str, "NA", "NA"),
        (str, " null ", " null "),
        (int, "+007", 7),
        (int, "0x1F", None),
        (int, "1_000", None),
        (int, "1.0", None),
        (int, " 1", None),
        (int, str(2**63), None),
        (float, "1e400", None),
        (float, "9" * 400, None),
        (float, "-inf", float("-inf")),
        (float, ".5", 0.5),
        (bool, "True", True),
        (bool, "yes", None),
        (bytes, "YWI=", b"ab"),
        (bytes, "YWI", None),
        (datetime, "2024-01-01T12:00:00", None),
        (datetime, "2024-01-01", None),
        (datetime, "2024-01-01 12:00+0530", micros(NOON - timedelta(hours=5, minutes=30))),
        (datetime, "2024-01-01T12:00:00.123456789Z", micros(NOON) + 123_456),
        (datetime, "1969-12-31T23:59:59.9999999Z", -1),
        (datetime, "0000-06-01T00:00:00Z", None),
        (datetime, "0001-01-01T00:00:00+01:00", None),
        (datetime, "9999-12-31T23:59:59.999999Z", micros(datetime.max.replace(tzinfo=UTC))),
        (datetime, "9999-12-31T23:59:59-10:00", None),
        (datetime, "2023-02-29T00:00:00Z", None),
        (datetime, "2024-01-01T12:00:60Z", None),
        (date, "2024-02-29", date(2024, 2, 29)),
        (date, "0000-01-01", None),
        (date, "20240229", None),
        (timedelta, "-5", -5),
        (Decimal, "1.50", Decimal("1.5")),
        (Decimal, "1e19", Decimal(10**19)),
        (Decimal, "1e20", None),
        (Decimal, "1e-19", None),
        (Decimal, "NaN", None),
        (Decimal, "1e999999999999999999999", None),
        (Color, "GREEN", "GREEN"),
        (int, "-" + "0" * 25, 0),
        pytest.param(int, "0" * 1_000_000 + "x", None, id="zeros"),
        pytest.param(float, "1" * 1_000_000 + "x", None, id="digits"),
        pytest.param(Decimal, "1" * 1_000_000 + "x", None, id="digits of a Decimal"),
    ],
)
def test_a_text_has_one_value_or_none(kind: type, text: str, value: object) -> None:
    """The texts on which readers differ have the value of the contract, or are bad."""
    shape = shape_of(kind)
    assert isinstance(shape, Scalar | EnumOf)
    if value is None:
        with pytest.raises(ValueError):  # noqa: PT011  # what is wrong is in the caller's message
            read_scalar(text, shape)
        assert read_scalars(pa.array([text]), shape) is None
    else:
        assert read_scalar(text, shape) == value


json_texts = st.recursive(
    st.one_of(
        st.sampled_from(
            ["null", "true", "false", "NaN", "-Infinity", "Inf", "-0", "1.5", "1e400", "07", "+1"]
        ),
        st.integers(-(2**70), 2**70).map(str),
        texts.map(json.dumps),
        st.text(max_size=3).map(lambda text: json.dumps(text, ensure_ascii=False)),
        st.sampled_from(['"\\ud800"', '"\\ud83d\\ude00"', '"\\x"', '"\t"', '"\x7f"', '"a', "'a'"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(st.sampled_from(["at", "name", "_1", "_2", "x"]), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
        ),
    ),
    max_leaves=6,
)
fitting = st.sampled_from(
    [
        '"key": "a"',
        '"count": 5',
        '"value": 1.5',
        '"flag": true',
        '"data": "YWI="',
        '"at": "2024-01-01T12:00:00.123456789Z"',
        '"day": "2024-02-29"',
        '"lasted": 5',
        '"amount": "1.5"',
        '"amount": 1.5',
        f'"amount": {"9" * 21}',
        '"amount": "1\\u00653 0"',
        '"amount": "1\\u006530"',
        '"amount": "\\u0031e30"',
        '"color": "RED"',
        '"times": ["2024-01-01T12:00:00Z", null]',
        '"inner": {"at": "2024-01-01T12:00:00Z", "more": [{}]}',
        '"pair": ["a", 1]',
        '"pair": {"_1": "a", "_2": 1}',
        '"other": {"at": [[[]], 1e400, NaN]}',
        '"other": 5, "other": "5"',
    ]
)
free = st.tuples(st.sampled_from([*(name for name, _ in FIELDS), "other", "\\u0061t"]), json_texts).map(
    lambda pair: f'"{pair[0]}": {pair[1]}'
)
objects = st.one_of(st.lists(fitting, max_size=4), st.lists(fitting | free, max_size=4)).map(
    lambda pairs: "{" + ", ".join(pairs) + "}"
)
lines = st.one_of(
    objects.map(str.encode),
    st.sampled_from(
        [b"", b"null", b"{}{}", b"{", b"}", b'{"count":1}\0', b'{"key":"\xe9"}', b"\xef\xbb\xbf{}", b" {} "]
    ),
    st.tuples(objects, st.integers(0, 40)).map(lambda pair: pair[0].encode()[: pair[1]]),
)


def outcomes(read: ReadTexts) -> dict[int, str]:
    """Returns the row or the error of each text."""
    rows = read.rows.to_pylist()
    good = dict(zip(read.numbers.tolist(), map(repr, rows), strict=True))
    return {**good, **{number: error.describe("row") for number, error in read.bad.items()}}


@given(st.lists(lines, max_size=6))
@example([b'{"other":[', b'{"other":1}]}{"count":1}'])
@example([b'{"value":NaN}', b'{"key":"\xe2\x80\xa8"}'])
def test_objects_are_read_alike_alone_and_among_others(objects: list[bytes]) -> None:
    """An object is the row, or has the error, of the exact reading, whatever is read with it."""
    read = read_objects(pa.array(objects, pa.large_binary()), FIELDS)
    expected = {}
    for number, text in enumerate(objects):
        try:
            row = read_object(text, FIELDS)
        except BadTextError as error:
            expected[number] = error.describe("row")
        else:
            expected[number] = repr(table_of([row], read.rows.schema).to_pylist()[0])
    assert outcomes(read) == expected


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("other", ['{"a":', "["])
def test_a_field_that_no_record_has_may_have_any_depth(depth: int, other: str) -> None:
    """Unknown values are skipped without recursion, also by the exact reading."""
    close = "}" if other.startswith("{") else "]"
    text = f'{{"count": 1, "other": {other * depth}1{close * depth}}}'.encode()
    read = read_objects(pa.array([text], pa.large_binary()), FIELDS)
    assert read.rows["count"].to_pylist() == [1]
    assert read_object(text, FIELDS)["count"] == 1


def test_unknown_fields_have_any_types() -> None:
    """A field that the records lack may have other types in other lines, and hundreds of names."""
    many = "".join(f'"f{number}": {{"g{number}": []}}, ' for number in range(400))
    data = f'{{{many}"count": 1, "x": 1}}\n{{"x": "a", "x": {{}}, "count": 2}}\n'.encode()
    assert counts(read_file(data, "json", FIELDS)) == [1, 2]


def counts(read: FileRows) -> Sequence[object]:
    """Returns the counts in rows."""
    return read.rows["count"].to_pylist()


def test_lines_of_json_end_at_line_feeds_only() -> None:
    """U+2028 and carriage returns do not end a line, and blank lines are none."""
    data = '\ufeff{"key":"a\u2028b","count":1}\r\n\n \n{"count":\r2}\n{"count":"x"}'.encode()
    read = read_file(data, "json", FIELDS)
    assert counts(read) == [1, 2]
    assert read.rows["key"][0].as_py() == "a\u2028b"
    assert [(line.row, line.text) for line in read.bad] == [(3, '{"count":"x"}')]


@pytest.mark.parametrize("word", ["Inf", "-Inf", "-NaN", '"-NaN"', '"Inf"'])
def test_three_words_of_json_are_floats(word: str) -> None:
    """``NaN``, ``Infinity`` and ``-Infinity`` are floats; what Arrow's parser takes for one besides is bad."""
    lines = [f'{{"value": {text}}}'.encode() for text in ("NaN", "-Infinity", word)]
    read = read_objects(pa.array(lines, pa.large_binary()), FIELDS)
    assert str(read.rows["value"].to_pylist()) == "[nan, -inf]"
    assert "value must be of type double; got" in read.bad[2].message


cell_texts = st.one_of(texts, st.sampled_from(["a,b", 'a"b', '"', "a\nb", "a\r\nb", "\u2028", "x" * 200_000]))


def quoted(text: str) -> str:
    """Returns a text as a quoted cell."""
    return '"' + text.replace('"', '""') + '"'


csv_lines = st.one_of(
    st.lists(cell_texts.map(quoted) | texts | st.just(""), min_size=3, max_size=3).map(",".join),
    st.lists(cell_texts, max_size=5).map(",".join),
    st.sampled_from(['"a,5,', '"a"b,5,', '"', '""', ",,", "a,5,2024-01-01T12:00:00Z"]),
).map(str.encode) | st.just(b"caf\xe9,1,")
THREE = [FIELDS[0], FIELDS[1], FIELDS[5]]


@given(st.lists(csv_lines, max_size=5), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_records_of_csv_are_read_alike_alone_and_among_others(records: list[bytes], end: bytes) -> None:
    """A record is the row, or has the error, of the exact reading, whatever is read with it."""
    file = CSVFile(end.join([b"key,count,at", *records]), THREE)
    spans = file.spans
    read = file.read()
    alone = {}
    for number, (begin, finish) in enumerate(spans):
        one = CSVFile(b"key,count,at\n" + file.data[begin:finish], THREE)
        assert len(one.spans) == 1
        alone[number] = outcomes(one.read())[0].replace("got ", "")
    assert {number: text.replace("got ", "") for number, text in outcomes(read).items()} == {
        number: text if "UTF-8" not in text else outcomes(read)[number] for number, text in alone.items()
    }


@pytest.mark.parametrize(
    ("text", "keys", "bad"),
    [
        ('"b,2,\nc,3,\nd,4,\n', ["c", "d"], ['"b,2,']),
        ('"b,2,\n"c",3,\nd,4,', ["c", "d"], ['"b,2,']),
        ('"b\nc",2,\nd,4,', ["b\nc", "d"], []),
        ('"b""c",2,\n6",4,', ['b"c', '6"'], []),
        ('"",2,\n,3,', ["", None], []),
        ('"b"c,2,\nd,4,', ["d"], ['"b"c,2,']),
        ("b,2\nc,3,,\n\n\nd,4,", ["d"], ["b,2", "c,3,,"]),
        (f"{'y' * 200_000},1,\nx,z,", ["y" * 200_000], ["x,z,"]),
    ],
)
def test_a_stray_quote_is_a_bad_record_of_its_line(text: str, keys: list[object], bad: list[str]) -> None:
    """A quoted cell may have line ends; a quote that encloses no cell takes no other line with it."""
    read = read_file(f"key,count,at\n{text}".encode(), "csv", THREE)
    assert read.rows["key"].to_pylist() == keys
    assert [line.text for line in read.bad] == bad


def test_a_mark_in_the_middle_of_a_file_belongs_to_its_cell() -> None:
    """Of two files that were joined, the second begins with a byte order mark, which no reading of a part removes."""
    lines = ["\ufeffb,1,", *["c,2,"] * 70, '"d"d,3,']
    read = read_file("\n".join(["key,count,at", *lines]).encode(), "csv", THREE)
    assert read.rows["key"].to_pylist() == ["\ufeffb", *["c"] * 70]
    assert len(read.bad) == 1


@pytest.mark.parametrize("end", ["", "\n"])
def test_an_empty_last_cell_is_null_after_a_cell_with_quotes(end: str) -> None:
    """The last record of a file is the same with and without a line end."""
    read = read_file(f'count,key\n"1",{end}'.encode(), "csv", FIELDS[:2])
    assert read.rows.to_pylist() == [{"key": None, "count": 1}]


def test_no_line_is_searched_for_more_cells_than_a_record_has() -> None:
    """Lines whose quotes could open a cell each are records of their own, in a time that their number determines."""
    lines = 200_000
    assert len(CSVFile(b"key,count,at\n" + b'a",b,"\n' * lines, THREE).spans) == lines


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"key,count,at,count\na,1,,2\n", "the column count is in the header 2 times"),
        (b"k\xe9y,count\n", "no CSV in UTF-8"),
    ],
)
def test_a_header_names_each_field_once(data: bytes, message: str) -> None:
    """A file whose header has a field twice, or is no text, has no records of the source."""
    with pytest.raises(BadFileError, match=message):
        read_file(data, "csv", THREE)


def test_cells_hold_no_lists() -> None:
    """A field that is no scalar is an error of the file, which names other formats."""
    with pytest.raises(BadFileError, match=r"times is list\[datetime\].*JSON lines or Parquet"):
        read_file(b"key,times\n", "csv", [field for field in FIELDS if field[0] in ("key", "times")])


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_compressed_file_is_an_error_of_the_file(kind: str) -> None:
    """It has no records of its own, so its lines are not bad records that dead letters keep apart."""
    with pytest.raises(BadFileError, match="compressed by gzip"):
        read_file(gzip.compress(b'{"count": 1}'), "csv" if kind == "csv" else "json", THREE)


@pytest.mark.parametrize("data", [b"", b"\n\r\n", b"\xef\xbb\xbf", b"  \n"])
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_file_without_text_has_no_records(data: bytes, kind: str) -> None:
    """It has the columns of the records, and no rows."""
    read = read_file(data, "csv" if kind == "csv" else "json", THREE)
    assert (read.rows.num_rows, read.rows.column_names, read.bad) == (0, ["key", "count", "at"], ())
