"""Operations on text, in code points, and on lists."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.shapes import TEXT, OptionalOf
from flowalg.lifting.tree.expressions import Apply, Constant
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.expressions.errors import fail, fail_where


def _constant(node: Apply, index: int) -> str:
    argument = node.args[index]
    assert isinstance(argument, Constant)
    assert isinstance(argument.value, str)
    return argument.value


def _index(node: Apply, argument: int) -> int:
    constant = node.args[argument]
    assert isinstance(constant, Constant)
    assert isinstance(constant.value, int)
    return constant.value


def find(_: Apply, text: Column, inner: Column) -> Column:
    """Compiles ``find``: the index of the first occurrence, or -1."""
    return (F.position(inner, text) - 1).cast("bigint")


def strip(node: Apply, text: Column, characters: Column) -> Column:
    """Compiles ``strip``, ``lstrip`` and ``rstrip``."""
    match node.op:
        case Op.STRIP_LEFT:
            return F.ltrim(text, characters)
        case Op.STRIP_RIGHT:
            return F.rtrim(text, characters)
        case _:
            return F.btrim(text, characters)


def slice_text(node: Apply, text: Column, *_: Column) -> Column:
    """Compiles a slice between constant indices."""
    start = _position(_index(node, 1), text)
    if len(node.args) == 2:
        return F.substr(text, start + 1)
    length = F.greatest(_position(_index(node, 2), text) - start, F.lit(0))
    return F.substr(text, start + 1, length)


def _position(index: int, text: Column) -> Column:
    """Returns the number of characters before an index; a negative index counts from the end."""
    return F.lit(index) if index >= 0 else F.greatest(F.length(text) + index, F.lit(0))


def character_at(node: Apply, text: Column, _: Column) -> Column:
    """Compiles the character at a constant index."""
    index = _index(node, 1)
    too_short = F.length(text) < (index + 1 if index >= 0 else -index)
    position = _position(index, text) + 1
    return fail_where(
        too_short, node, "IndexError: string index out of range", F.substr(text, position, F.lit(1))
    )


def split(node: Apply, text: Column, _: Column) -> Column:
    """Compiles ``split`` with a separator."""
    return F.split(text, "".join(map(_escape, _constant(node, 1))), -1)


def words(node: Apply, text: Column, white_space: Column) -> Column:
    """Compiles ``split`` at white space, which also strips it."""
    inner = F.btrim(text, white_space)
    spaces = "".join(map(_escape, _constant(node, 1)))
    empty = F.array().cast("array<string>")
    return F.when(inner == "", empty).otherwise(F.split(inner, f"[{spaces}]+", -1))


def _escape(character: str) -> str:
    """Escapes a character for a Java regular expression."""
    return f"\\x{{{ord(character):x}}}"


def item_at(node: Apply, items: Column, _: Column) -> Column:
    """Compiles the item at a constant index."""
    index = _index(node, 1)
    position = F.lit(index) if index >= 0 else F.size(items) + index
    item, message = F.get(items, position), "IndexError: list index out of range"
    if not isinstance(node.shape, OptionalOf):
        # The list is read once, and a split that several items are read of is computed once.
        return F.coalesce(item, fail(node.location, message))
    too_short = F.size(items) < (index + 1 if index >= 0 else -index)
    return fail_where(too_short, node, message, item)


def size(node: Apply, of: Column) -> Column:
    """Compiles ``len`` of text or of a list."""
    return (F.length(of) if node.args[0].shape == TEXT else F.size(of)).cast("bigint")
