"""Builds the source of the test whether a value is valid, which replaces `fast.compile_predicate`.

Here both True and False are final, because tests that are not inlined are called.
"""

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import fast, scalars
from quarterdeck.meta.structural.inlined.source import (
    Check,
    Source,
    is_plain_object,
    is_unconditional,
)


def build_acceptance(node: Node) -> Check:
    """A function that is true for exactly the values the schema allows."""
    source = Source()
    _write_value(source, node, "v")
    check: Check = source.compile()
    return check


def _write_value(source: Source, node: Node, name: str) -> None:
    if not source.reserve_node(len(node.properties)):
        _call_test(source, node, name)
    elif is_plain_object(node) and _has_listed_members(node):
        _write_object(source, node, name)
    elif node.type == "array" and is_unconditional(node) and not node.unique_items:
        _write_array(source, node, name)
    elif (limits := scalars.find_integer_limits(node)) is not None:
        source.refuse_if(
            f"not {limits[0]} <= {name} <= {limits[1]} if type({name}) is int"
            f" else not {source.bind(scalars.compile_bounded_integer(node))}({name})"
        )
    elif node.type == "string" and is_unconditional(node) and not (node.pattern or node.format):
        _write_string(source, node, name)
    elif _is_choice(node):
        choices = source.bind(frozenset(node.enum or ()))
        source.refuse_if(f"type({name}) is not str or {name} not in {choices}")
    else:
        _call_test(source, node, name)


def _has_listed_members(node: Node) -> bool:
    """Whether the members are either all declared, or those of a map without declared ones."""
    return node.additional is None or (isinstance(node.additional, Node) and not node.properties)


def _is_choice(node: Node) -> bool:
    """Whether a node is an enumeration of strings without other rules."""
    plain = Node(type="string", enum=node.enum)
    return fast.lists_strings(node) and all(
        getattr(node, name) == getattr(plain, name) for name in _CONDITIONS
    )


_CONDITIONS = (
    *("type", "nullable", "int_or_string", "format", "pattern", "min_length", "max_length"),
    *("minimum", "maximum", "multiple_of", "all_of", "any_of", "one_of", "not_"),
)
"""The attributes of a node that must be unset for `_is_choice`, besides type and enumeration."""


def _call_test(source: Source, node: Node, name: str) -> None:
    kind, test = fast.compile_leaf(node)
    if test is None:
        return
    condition = f"not {source.bind(test)}({name})"
    if kind is not None:
        condition = f"type({name}) is not {kind.__name__} and {condition}"
    source.refuse_if(condition)


def _write_object(source: Source, node: Node, name: str) -> None:
    source.refuse_if(f"type({name}) is not dict")
    _write_limits(source, name, node.min_properties, node.max_properties)
    required = set(node.required)
    for key, child in node.properties.items():
        with source.member(name, key) as member:
            _write_value(source, child, member)
        if key in required:
            with source.block("else:"):
                source.refuse()
    for key in sorted(required - node.properties.keys()):
        source.refuse_if(f"{key!r} not in {name}")
    if isinstance(node.additional, Node):
        with source.each(f"{name}.values()") as member:
            _write_value(source, node.additional, member)


def _write_array(source: Source, node: Node, name: str) -> None:
    source.refuse_if(f"type({name}) is not list")
    _write_limits(source, name, node.min_items, node.max_items)
    if node.items is not None:
        with source.each(name) as member:
            _write_value(source, node.items, member)


def _write_string(source: Source, node: Node, name: str) -> None:
    source.refuse_if(f"type({name}) is not str")
    _write_limits(source, name, node.min_length, node.max_length)


def _write_limits(source: Source, name: str, low: int | None, high: int | None) -> None:
    if low:
        source.refuse_if(f"len({name}) < {source.bind(low)}")
    if high is not None:
        source.refuse_if(f"len({name}) > {source.bind(high)}")
