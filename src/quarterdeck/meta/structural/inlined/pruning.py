"""Builds the test whether pruning changes nothing, and no number is too large for Go.

`apiVersion`, `kind` and `metadata` are skipped: no schema declares them, and numbers in the
metadata are checked elsewhere.

It replaces `admit` with `Task.PRUNE`: the test is true for objects whose members are all declared
and have the declared types. It is false for all others, even if pruning would not change them.
"""

from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural.admit import META
from quarterdeck.meta.structural.inlined.source import Check, Source

_IN_64_BITS = f"{-(2**63)} <= {{0}} <= {2**63 - 1}"
_SCALARS = {
    "string": "type({0}) is str",
    "boolean": "type({0}) is bool",
    "integer": f"type({{0}}) is int and {_IN_64_BITS}",
    "number": f"type({{0}}) is float or (type({{0}}) is int and {_IN_64_BITS})",
}
_INT_OR_STRING = f"type({{0}}) is str or (type({{0}}) is int and {_IN_64_BITS})"


def build_pruning_check(node: Node, *, is_root: bool) -> Check:
    """Build a function that is true only for objects that pruning and rounding do not change."""
    source = Source()
    _write_value(source, node, "v", is_root=is_root, keeps=False)
    check: Check = source.compile()
    return check


def has_large_integer(value: Any) -> bool:
    """Whether a value holds an integer beyond 64 bits, at any depth."""
    parts = [value]
    for part in parts:  # grows: recursion would cost a call for each part
        kind = type(part)
        if kind is dict:
            parts.extend([each for each in part.values() if type(each) is not str])
        elif kind is list:
            parts.extend([each for each in part if type(each) is not str])
        elif kind is int and not -(2**63) <= part < 2**63:
            return True
    return False


def _write_value(
    source: Source, node: Node, name: str, *, is_root: bool = False, keeps: bool
) -> None:
    keeps = keeps or node.preserve_unknown
    if not source.reserve_node(len(node.properties)) or (node.embedded_resource and not is_root):
        source.refuse()
    elif node.int_or_string:
        source.refuse_if(f"not ({_INT_OR_STRING.format(name)})")
    elif node.type in _SCALARS:
        source.refuse_if(f"not ({_SCALARS[node.type].format(name)})")
    elif node.items is not None:
        source.refuse_if(f"type({name}) is not list")
        with source.each(name) as member:
            _write_value(source, node.items, member, keeps=keeps)
    elif isinstance(node.additional, bool) or (node.additional and node.properties):
        source.refuse()
    else:
        _write_object(source, node, name, is_root=is_root, keeps=keeps)


def _write_object(source: Source, node: Node, name: str, *, is_root: bool, keeps: bool) -> None:
    source.refuse_if(f"type({name}) is not dict")
    if isinstance(node.additional, Node):
        with source.each(f"{name}.values()") as member:
            _write_value(source, node.additional, member, keeps=False)
        return
    count = source.name_variable()
    source.add(f"{count} = 0")
    children = dict(node.properties)
    if is_root:
        children = dict.fromkeys(META, Node()) | children
    for key, child in children.items():
        with source.member(name, key) as member:
            source.add(f"{count} += 1")
            if not (is_root and key in META):
                _write_value(source, child, member, keeps=False)
    with source.block(f"if {count} != len({name}):"):
        if keeps:
            known = source.bind(frozenset(children))
            member, key = source.name_variable(), source.name_variable()
            with source.block(f"for {key}, {member} in {name}.items():"):
                source.refuse_if(f"{key} not in {known} and {_bind_search(source)}({member})")
        else:
            source.refuse()


def _bind_search(source: Source) -> str:
    return source.bind(has_large_integer)
