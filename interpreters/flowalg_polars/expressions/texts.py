"""Operations on text, in code points, and on lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl

from flowalg.data.shapes import TEXT, ListOf, MapOf, MaybeOf, OptionalOf, SetOf, Shape
from flowalg.lifting.tree.expressions import Apply, Constant, Param, walk
from flowalg.lifting.tree.failures import can_fail_itself
from flowalg.lifting.tree.primitives import CASES, Op
from flowalg_polars.expressions.failures import Failures, fail_where


def contains(_: Apply, text: pl.Expr, inner: pl.Expr) -> pl.Expr:
    """Compiles ``in``."""
    return text.str.contains(inner, literal=True)


def find(_: Apply, text: pl.Expr, inner: pl.Expr) -> pl.Expr:
    """Compiles ``find``: the index of the first occurrence, or -1. Polars finds bytes."""
    before = text.cast(pl.Binary()).bin.head(text.str.find(inner, literal=True))
    return before.cast(pl.String()).str.len_chars().cast(pl.Int64()).fill_null(-1)


def replace(node: Apply, text: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    """Compiles ``replace``. Polars needs a column of texts if the new parts are one."""
    if not any(isinstance(part, Param) for part in walk(node.args[0])):
        text = pl.when(new.is_not_null()).then(text)
    return text.str.replace_all(old, new, literal=True)


def strip(node: Apply, text: pl.Expr, characters: pl.Expr) -> pl.Expr:
    """Compiles ``strip``, ``lstrip`` and ``rstrip``."""
    match node.op:
        case Op.STRIP_LEFT:
            return text.str.strip_chars_start(characters)
        case Op.STRIP_RIGHT:
            return text.str.strip_chars_end(characters)
        case _:
            return text.str.strip_chars(characters)


def change_case(node: Apply, text: pl.Expr) -> pl.Expr:
    """Compiles ``lower``, ``title`` and the like. Python has its own tables for texts beyond ASCII."""
    return pl.map_batches(
        [text], partial(_change_case, node.op), return_dtype=pl.String(), is_elementwise=True
    )


def _change_case(op: Op, columns: Sequence[pl.Series]) -> pl.Series:
    [texts] = columns
    changed = _change_ascii(op, texts)
    beyond_ascii = (texts.str.len_bytes() > texts.str.len_chars()).arg_true()
    if beyond_ascii.is_empty():
        return changed
    others: Sequence[str] = texts[beyond_ascii].to_list()
    return changed.scatter(beyond_ascii, list(map(CASES[op], others)))


def _change_ascii(op: Op, texts: pl.Series) -> pl.Series:
    match op:
        case Op.UPPER:
            return texts.str.to_uppercase()
        case Op.TITLE:
            return texts.str.to_titlecase()
        case Op.CAPITALIZE:
            return texts.str.head(1).str.to_uppercase() + texts.str.slice(1).str.to_lowercase()
        case _:
            return texts.str.to_lowercase()


def thousands(_: Apply, text: pl.Expr) -> pl.Expr:
    """Compiles the commas of a number, from its end."""
    grouped = text.str.reverse().str.replace_all("([0-9]{3})", "$1,").str.reverse()
    return grouped.str.replace("^(-?),", "$1")


def slice_text(node: Apply, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    """Compiles a slice between constant indices."""
    start = node.integer(1)
    if len(node.args) == 2:
        return text.str.slice(start) if start >= 0 else text.str.tail(-start)
    stop = node.integer(2)
    if start >= 0 and stop >= 0:
        return text.str.slice(start, max(stop - start, 0))
    before = text.str.head(stop)
    if start >= 0:
        return before.str.slice(start)
    if stop < 0:
        return before.str.tail(max(stop - start, 0))
    return before.str.slice(pl.max_horizontal(_length(text) + start, pl.lit(0, dtype=pl.Int64())))


def _length(text: pl.Expr) -> pl.Expr:
    return text.str.len_chars().cast(pl.Int64())


def character_at(node: Apply, text: pl.Expr, index: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles the character at an index."""
    outside = _is_outside(node, text.str.len_chars(), index)
    failure = fail_where(outside, node.location, "IndexError: string index out of range")
    return text.str.slice(index, 1), failure


def _is_outside(node: Apply, size: pl.Expr, index: pl.Expr) -> pl.Expr:
    """Returns whether an index, from the start or the end, is out of range."""
    if isinstance(node.args[1], Constant):
        at = node.integer(1)
        return size < (at + 1 if at >= 0 else -at)
    size = size.cast(pl.Int64())
    return (index >= size) | (index < -size)


def matches(node: Apply, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    """Compiles whether a pattern is in a text."""
    return text.str.contains(node.text(1))


def group(node: Apply, text: pl.Expr, *_: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles a group of the first match."""
    matched = text.str.extract(node.text(1), node.integer(2))
    missing = matched.is_null()
    return matched, fail_where(missing, node.location, node.text(3)) if can_fail_itself(node) else ()


def substitute(node: Apply, text: pl.Expr, *_: pl.Expr) -> pl.Expr:
    """Compiles ``re.sub`` by a constant text, in which ``$`` would name a group."""
    return text.str.replace_all(node.text(1), node.text(2).replace("$", "$$"))


def find_all(node: Apply, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    """Compiles ``re.findall``."""
    return text.str.extract_all(node.text(1))


def split(_: Apply, text: pl.Expr, separator: pl.Expr) -> pl.Expr:
    """Compiles ``split`` with a separator."""
    return text.str.split(separator)


def words(node: Apply, text: pl.Expr, _: pl.Expr) -> pl.Expr:
    """Compiles ``split`` at white space."""
    spaces = "".join(f"\\x{{{ord(character):x}}}" for character in node.text(1))
    return text.str.extract_all(f"[^{spaces}]+")


def concatenate(_: Apply, *texts: pl.Expr) -> pl.Expr:
    """Compiles the concatenation of strings."""
    return pl.concat_str(texts)


def make_list(node: Apply, *items: pl.Expr) -> pl.Expr:
    """Compiles a list. Lists of lists need structs, since Polars concatenates lists."""
    shape = node.args[0].shape
    if shape is not None and _is_list(shape):
        wrapped = pl.concat_list([pl.struct(item.alias("item")) for item in items])
        return wrapped.list.eval(pl.element().struct.field("item"))
    return pl.concat_list(items)


def _is_list(shape: Shape) -> bool:
    match shape:
        case OptionalOf(of=inner) | MaybeOf(of=inner):
            return _is_list(inner)
        case _:
            return isinstance(shape, ListOf | SetOf | MapOf)


def item_at(node: Apply, items: pl.Expr, index: pl.Expr) -> tuple[pl.Expr, Failures]:
    """Compiles the item at an index."""
    outside = _is_outside(node, items.list.len(), index)
    failure = fail_where(outside, node.location, "IndexError: list index out of range")
    return items.list.get(index, null_on_oob=True), failure


def has_item(_: Apply, items: pl.Expr, item: pl.Expr) -> pl.Expr:
    """Compiles ``in`` of a list."""
    return items.list.contains(item)


def size(node: Apply, of: pl.Expr) -> pl.Expr:
    """Compiles ``len`` of text or of a list."""
    return (of.str.len_chars() if node.args[0].shape == TEXT else of.list.len()).cast(pl.Int64())
