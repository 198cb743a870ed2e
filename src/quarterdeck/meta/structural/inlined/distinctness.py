"""Whether no list of a value has doubled members: the source for `duplicates.compile_finder`."""

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural.duplicates import compile_finder
from quarterdeck.meta.structural.inlined.source import Check, Source


def build_distinctness(node: Node) -> Check:
    """A function that is true only for values without doubled members of sets and maps."""
    source = Source()
    with source.block("try:"):
        _write_value(source, node, "v")
    with source.block("except (TypeError, KeyError):"):  # items without keys, or of wrong types
        source.refuse()
    check: Check = source.compile()
    return check


def _write_value(source: Source, node: Node, name: str) -> None:
    if compile_finder(node) is None:
        return
    if not source.reserve_node(len(node.properties)):
        source.refuse()
    elif node.type == "array" or node.items is not None:
        _write_list(source, node, name)
    else:
        _write_object(source, node, name)


def _write_object(source: Source, node: Node, name: str) -> None:
    source.refuse_if(f"type({name}) is not dict")
    for key, child in node.properties.items():
        if compile_finder(child) is not None:
            with source.member(name, key) as member:
                _write_value(source, child, member)
    if isinstance(node.additional, Node):
        with source.each(f"{name}.values()") as member:
            _write_value(source, node.additional, member)


def _write_list(source: Source, node: Node, name: str) -> None:
    source.refuse_if(f"type({name}) is not list")
    if node.list_type == "set":
        source.refuse_if(f"len(set({name})) != len({name})")
    elif node.list_type == "map":
        member = source.name_variable()
        keys = ", ".join([f"{member}[{key!r}]" for key in node.list_map_keys])
        identity = keys if len(node.list_map_keys) == 1 else f"({keys})"
        source.refuse_if(f"len({{{identity} for {member} in {name}}}) != len({name})")
    if node.items is not None and compile_finder(node.items) is not None:
        with source.each(name) as member:
            _write_value(source, node.items, member)
