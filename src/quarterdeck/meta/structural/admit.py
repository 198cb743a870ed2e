"""Pruning and defaulting, compiled into one walk over the objects and lists of a value.

A walk changes the value in place and answers the paths it dropped, relative to where it stands
(`.foo`, `[0].bar`), or None when it dropped nothing; scalars are never visited. Parents put their
own step in front, so a clean object builds no path at all.
"""

import enum
from collections.abc import Callable
from typing import Any

from quarterdeck.meta.schema import Node

Walk = Callable[[Any], list[str] | None]
Factory = Callable[[], Any]

_SCALARS = frozenset({"string", "integer", "number", "boolean"})
META = frozenset({"apiVersion", "kind", "metadata"})


class Task(enum.Flag):
    """What a walk does."""

    PRUNE = enum.auto()
    DEFAULT = enum.auto()


def compile_walk(node: Node, task: Task, *, is_root: bool) -> Walk:
    """The walk of a whole object."""
    return _compile(node, task, is_root=is_root, keeps=False) or _nothing


def _nothing(value: Any) -> list[str] | None:
    return None


def _compile(node: Node, task: Task, *, is_root: bool = False, keeps: bool) -> Walk | None:
    """The walk below one node, or None if there is nothing to do there.

    `keeps`: an outer node preserves unknown fields of the lists it holds.
    """
    keeps = keeps or node.preserve_unknown
    if node.type in _SCALARS or node.int_or_string:
        return None
    if node.items is not None:
        return _list_walk(node.items, task, keeps=keeps)
    return _object_walk(node, task, is_root=is_root, keeps=keeps)


def _list_walk(items: Node, task: Task, *, keeps: bool) -> Walk | None:
    walk = _compile(items, task, keeps=keeps)
    null = _null_factory(items) if Task.DEFAULT in task else None
    if walk is None and null is None:
        return None
    return _ListWalk(walk or _nothing, null).run


class _ListWalk:
    """Items one by one."""

    __slots__ = ("item", "null")

    def __init__(self, item: Walk, null: Factory | None) -> None:
        self.item = item
        self.null = null

    def run(self, value: Any) -> list[str] | None:
        if type(value) is not list:
            return None
        dropped: list[str] | None = None
        item = self.item
        if self.null is not None and None in value:
            value[:] = [self.null() if member is None else member for member in value]
        for index, member in enumerate(value):
            if (found := item(member)) is not None:
                dropped = dropped or []
                dropped += [f"[{index}]{path}" for path in found]
        return dropped


class _ObjectWalk:
    """Members of an object or of a map."""

    __slots__ = ("defaults", "extra", "extra_null", "known", "nested", "own", "refuses_null")

    def __init__(self) -> None:
        self.known: frozenset[str] | None = None
        """Members that stay; None where all do."""
        self.defaults: tuple[tuple[str, Factory], ...] = ()
        self.nested: tuple[tuple[str, Walk], ...] = ()
        self.own: frozenset[str] = frozenset()
        self.extra: Walk | None = None
        """For members without a schema of their own: those of a map."""
        self.extra_null: Factory | None = None
        self.refuses_null: Callable[[str], bool] | None = None

    def is_idle(self) -> bool:
        """Whether there is nothing to do for any object."""
        return not (
            self.known is not None
            or self.defaults
            or self.nested
            or self.extra
            or self.refuses_null
        )

    def run(self, value: Any) -> list[str] | None:
        if type(value) is not dict:
            return None
        dropped: list[str] | None = None
        known = self.known
        if known is not None and not value.keys() <= known:
            dropped = [f".{key}" for key in value if key not in known]
            for path in dropped:
                del value[path[1:]]
        if self.refuses_null is not None and None in value.values():
            self._settle_nulls(value, self.refuses_null)
        for key, factory in self.defaults:
            if key not in value:
                value[key] = factory()
        for key, walk in self.nested:
            member = value.get(key)
            if member is not None and (found := walk(member)) is not None:
                dropped = dropped or []
                dropped += [f".{key}{path}" for path in found]
        if self.extra is not None:
            dropped = self._walk_rest(value, self.extra, dropped)
        return dropped

    def _settle_nulls(self, value: dict[str, Any], refuses: Callable[[str], bool]) -> None:
        """A null where none may stand gives way: to the default, or to nothing."""
        for key in [key for key, member in value.items() if member is None and refuses(key)]:
            if self.extra_null is not None and key not in self.own:
                value[key] = self.extra_null()
            else:
                del value[key]

    def _walk_rest(
        self, value: dict[str, Any], walk: Walk, dropped: list[str] | None
    ) -> list[str] | None:
        own = self.own
        for key, member in value.items():
            if key not in own and (found := walk(member)) is not None:
                dropped = dropped or []
                dropped += [f".{key}{path}" for path in found]
        return dropped


def _object_walk(node: Node, task: Task, *, is_root: bool, keeps: bool) -> Walk | None:
    walk = _ObjectWalk()
    walk.own = frozenset(node.properties)
    is_resource = is_root or node.embedded_resource
    if Task.PRUNE in task and not keeps and node.additional is None:
        walk.known = walk.own | META if is_resource else walk.own
    if Task.DEFAULT in task:
        walk.defaults = _defaults(node)
        walk.refuses_null = _null_rule(node)
        if isinstance(node.additional, Node):
            walk.extra_null = _null_factory(node.additional)
    walk.nested = tuple(
        (key, below)
        for key, child in node.properties.items()
        if not (is_resource and key in META)
        and (below := _compile(child, task, keeps=False)) is not None
    )
    walk.extra = _extra(node, task)
    return None if walk.is_idle() else walk.run


def _extra(node: Node, task: Task) -> Walk | None:
    if isinstance(node.additional, Node):
        return _compile(node.additional, task, keeps=False)
    if isinstance(node.additional, bool) and Task.PRUNE in task:
        return _empty_objects
    return None


def _empty_objects(value: Any) -> list[str] | None:
    """Where members have no schema at all, scalars stay and objects lose everything."""
    if type(value) is dict and value:
        dropped = [f".{key}" for key in value]
        value.clear()
        return dropped
    if type(value) is list:
        dropped = [
            f"[{index}]{path}"
            for index, member in enumerate(value)
            for path in _empty_objects(member) or ()
        ]
        return dropped or None
    return None


def _defaults(node: Node) -> tuple[tuple[str, Factory], ...]:
    return tuple(
        (key, _factory(child.default))
        for key, child in node.properties.items()
        if child.has_default and child.default is not None
    )


def _factory(default: Any) -> Factory:
    if isinstance(default, dict | list):
        return lambda: copy_value(default)
    return lambda: default


def copy_value(value: Any) -> Any:
    """A JSON value of its own."""
    if isinstance(value, dict):
        return {key: copy_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [copy_value(member) for member in value]
    return value


def _null_rule(node: Node) -> Callable[[str], bool] | None:
    """Which members drop a null: the declared ones that do not allow it, and those of a map."""
    declared = frozenset(key for key, child in node.properties.items() if not child.nullable)
    if isinstance(node.additional, Node) and not node.additional.nullable:
        allowed = frozenset(node.properties) - declared
        return lambda key: key not in allowed
    return declared.__contains__ if declared else None


def _null_factory(node: Node) -> Factory | None:
    """What takes the place of a null item or map member; None to leave it."""
    if node.nullable or not node.has_default or node.default is None:
        return None
    return _factory(node.default)
