"""Operations on text, in code points, and on lists."""

from __future__ import annotations

from flowalg.data.shapes import TEXT, Nullable
from flowalg.lifting.tree.expressions import Apply, Constant
from flowalg.lifting.tree.failures import can_fail_itself
from flowalg.lifting.tree.primitives import Op
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.expressions.errors import fail, fail_where


def find(_: Apply, text: Sql, inner: Sql) -> Sql:
    """Compiles ``find``: the index of the first occurrence, or -1."""
    return (sql.position(inner, text) - 1).cast("bigint")


def strip(node: Apply, text: Sql, characters: Sql) -> Sql:
    """Compiles ``strip``, ``lstrip`` and ``rstrip``."""
    match node.op:
        case Op.STRIP_LEFT:
            return sql.ltrim(characters, text)
        case Op.STRIP_RIGHT:
            return sql.rtrim(characters, text)
        case _:
            return sql.btrim(text, characters)


def slice_text(node: Apply, text: Sql, *_: Sql) -> Sql:
    """Compiles a slice between constant indices."""
    start = _position(node.integer(1), text)
    if len(node.args) == 2:
        return sql.substr(text, start + 1)
    length = sql.greatest(_position(node.integer(2), text) - start, 0)
    return sql.substr(text, start + 1, length)


def _position(index: int, text: Sql) -> Sql:
    """Returns the number of characters before an index; a negative index counts from the end."""
    return sql.lit(index) if index >= 0 else sql.greatest(sql.length(text) + index, 0)


def character_at(node: Apply, text: Sql, index: Sql) -> Sql:
    """Compiles the character at an index."""
    size, message = sql.length(text), "IndexError: string index out of range"
    position = _place(node, size, index) + 1
    return fail_where(_is_outside(node, size, index), node, message, sql.substr(text, position, 1))


def _place(node: Apply, size: Sql, index: Sql) -> Sql:
    """Returns the place of an index that is in range."""
    if isinstance(node.args[1], Constant):
        at = node.integer(1)
        return sql.lit(at) if at >= 0 else size + at
    return sql.when(index < 0, size + index).otherwise(index).cast("int")


def _is_outside(node: Apply, size: Sql, index: Sql) -> Sql:
    """Returns whether an index, from the start or the end, is out of range."""
    if isinstance(node.args[1], Constant):
        at = node.integer(1)
        return size < (at + 1 if at >= 0 else -at)
    return (index >= size) | (index < -size)


def group(node: Apply, text: Sql, pattern: Sql, *_: Sql) -> Sql:
    """Compiles a group of the first match."""
    matched = sql.regexp_extract(text, pattern, node.integer(2))
    if not can_fail_itself(node):
        return matched
    return fail_where(~sql.regexp_like(text, pattern), node, node.text(3), matched)


def substitute(node: Apply, text: Sql, pattern: Sql, _: Sql) -> Sql:
    """Compiles ``re.sub`` by a constant text, in which ``$`` would name a group."""
    return sql.regexp_replace(text, pattern, node.text(2).replace("$", r"\$"))


def split(node: Apply, text: Sql, _: Sql) -> Sql:
    """Compiles ``split`` with a separator."""
    return sql.split(text, "".join(map(_escape, node.text(1))), -1)


def words(node: Apply, text: Sql, white_space: Sql) -> Sql:
    """Compiles ``split`` at white space, which also strips it."""
    inner = sql.btrim(text, white_space)
    spaces = "".join(map(_escape, node.text(1)))
    empty = sql.array().cast("array<string>")
    return sql.when(inner == "", empty).otherwise(sql.split(inner, f"[{spaces}]+", -1))


def _escape(character: str) -> str:
    """Escapes a character for a Java regular expression, unless it has no other meaning there."""
    is_plain = character.isalnum() or character.isspace() or character in ',;:/_=@#%!~"<>'
    return character if is_plain else f"\\x{{{ord(character):x}}}"


def item_at(node: Apply, items: Sql, index: Sql) -> Sql:
    """Compiles the item at an index."""
    size, message = sql.size(items), "IndexError: list index out of range"
    item = sql.get(items, _place(node, size, index))
    if isinstance(node.args[1], Constant) and not isinstance(node.shape, Nullable):
        # The list is read once, and a split that several items are read of is computed once.
        return sql.coalesce(item, fail(node.location, message))
    return fail_where(_is_outside(node, size, index), node, message, item)


def size(node: Apply, of: Sql) -> Sql:
    """Compiles ``len`` of text or of a list."""
    return (sql.length(of) if node.args[0].shape == TEXT else sql.size(of)).cast("bigint")
