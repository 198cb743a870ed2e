"""Builds the source that fills in defaults, which replaces `admit` with `Task.DEFAULT`.

The function returns True if all defaults are filled in and there was no null to drop. Otherwise
some may be filled in already, and the walk of `admit` does the rest.
"""

from collections.abc import Callable
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural.admit import META
from quarterdeck.meta.structural.inlined.source import Check, Source

_SMALL_TEXT = 64
FindFactory = Callable[[Node], Callable[[], Any] | None]
"""Returns the function that makes the default of a node; None if it has no default."""
IsIdle = Callable[[Node], bool]
"""Whether there is nothing to fill in and no null to drop anywhere below a node."""


def build_defaulting(
    node: Node, *, is_root: bool, factory_of: FindFactory, is_idle: IsIdle
) -> Check:
    """Build a function that fills in defaults, and returns whether it has filled in all."""
    source = Source()
    _Writer(source, factory_of, is_idle).write(node, "v", is_root=is_root)
    check: Check = source.compile()
    return check


class _Writer:
    def __init__(self, source: Source, factory_of: FindFactory, is_idle: IsIdle) -> None:
        self._source = source
        self._factory_of = factory_of
        self._is_idle = is_idle

    def write(
        self, node: Node, name: str, *, is_root: bool = False, is_repeated: bool = False
    ) -> None:
        """Write the source for one node; `is_repeated` is set inside of lists and maps."""
        source = self._source
        if not is_root and self._is_idle(node):
            return
        if not source.reserve_node(len(node.properties)) or (
            node.embedded_resource and not is_root
        ):
            source.refuse()
        elif node.items is not None:
            source.refuse_if(f"type({name}) is not list or None in {name}")
            with source.each(name) as member:
                self.write(node.items, member, is_repeated=True)
        elif isinstance(node.additional, Node) and node.properties:
            source.refuse()
        else:
            self._write_object(node, name, is_root=is_root, is_repeated=is_repeated)

    def _write_object(self, node: Node, name: str, *, is_root: bool, is_repeated: bool) -> None:
        source = self._source
        source.refuse_if(f"type({name}) is not dict or None in {name}.values()")
        for key, child in node.properties.items():
            if (is_root and key in META) or self._is_idle(child):
                continue
            with source.member(name, key) as member:
                self.write(child, member, is_repeated=is_repeated)
        if isinstance(node.additional, Node):
            with source.each(f"{name}.values()") as member:
                self.write(node.additional, member, is_repeated=True)
        for key, child in node.properties.items():
            if (default := self._write_default(child, is_repeated=is_repeated)) is not None:
                with source.block(f"if {key!r} not in {name}:"):
                    source.add(f"{name}[{key!r}] = {default}")

    def _write_default(self, child: Node, *, is_repeated: bool) -> str | None:
        """Write the expression of a default; a small one that is used once is not counted."""
        factory = self._factory_of(child)
        if factory is None:
            return None
        if not is_repeated and _is_small_scalar(child.default):
            return self._source.bind(child.default)
        return f"{self._source.bind(factory)}()"


def _is_small_scalar(default: Any) -> bool:
    return type(default) in (bool, int, float) or (
        type(default) is str and len(default) <= _SMALL_TEXT
    )
