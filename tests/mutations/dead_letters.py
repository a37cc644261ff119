"""Faults of dead letters: bad records that are lost, that take others with them, or that are reported wrongly."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Replacement

DEAD_LETTER_MUTANTS: Final = (
    Replacement(
        "a grouping does not try to add its elements",
        "_before_grouping",
        "_may_fail(node.combiner, value)",
        "False",
    ),
    Replacement(
        "a grouping does not try the functions of its trigger",
        "Admitted.__call__",
        "_observe(leaf, value, self.label)",
        "pass",
    ),
    Replacement(
        "a grouping does not try to assign windows",
        "_calls_user_code",
        "by_key or isinstance(windows, CustomWindows | WindowsByValue)",
        "by_key",
    ),
    Replacement(
        "a bad record is that of the element after the step",
        "Rows.apply",
        "self.inputs[position]",
        "self.elements[-1 - position]",
    ),
    Replacement(
        "steps that chains share are not one node",
        "admit",
        "share_steps([collection.node for collection in outputs.values()])",
        "[collection.node for collection in outputs.values()]",
    ),
    Replacement(
        "a result of another type is an element",
        "conforming",
        "conform(element.value, analysis.after, where)",
        "element.value",
    ),
    Replacement(
        "the first bad row of a micro-batch is the only one",
        "good_records",
        "bad.append(read)",
        "bad[:] = bad or [read]",
    ),
)

MESSAGE_MUTANTS: Final = (
    Replacement("a number beyond the floats is infinity", "_float", "isinf(value)", "False"),
    Replacement(
        "bytes after an Avro record are ignored",
        "read_record",
        "data.tell() != len(value)",
        "False",
    ),
    Replacement("fastavro rounds decimals", "_prepare", "node['precision'] = _PRECISION", "pass"),
    Replacement(
        "a type that contains itself is read",
        "_prepare",
        "node not in enclosing and (node not in named or _prepare(named[node], named, {*enclosing, node}))",
        "node in enclosing or node not in named or _prepare(named[node], named, {*enclosing, node})",
    ),
    Replacement(
        "a record class without fields of the schema fits it",
        "describe_unlike",
        "name not in types and not isinstance(shape, OptionalOf)",
        "False",
    ),
)
