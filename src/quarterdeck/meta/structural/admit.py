"""Pruning and defaulting, compiled into one walk over the objects and lists of a value.

A walk changes the value in place and returns the dropped paths, relative to the value (`.foo`,
`[0].bar`), or None if it dropped nothing. Parents prepend their own step, so no path is built for
an object without unknown fields.
"""

import enum
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from quarterdeck.kit import json
from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural.json_copy import copy_value

Walk = Callable[[Any], list[str] | None]
Factory = Callable[[], Any]

_SCALARS = frozenset({"string", "integer", "number", "boolean"})
META = frozenset({"apiVersion", "kind", "metadata"})
MAX_DEFAULT_BYTES: Final = 4 * 1024 * 1024
"""Limit of the defaults that are filled into one object, in bytes of JSON."""


class Task(enum.Flag):
    """What a walk does."""

    PRUNE = enum.auto()
    DEFAULT = enum.auto()
    KEEP_NULLS = enum.auto()
    """Keep nulls that have no default."""


class DefaultsTooLarge(ValueError):
    """Raised when the defaults of one object are larger than an object may be."""


class _Budget(threading.local):
    """How many bytes of defaults one walk may still fill in; thread-local.

    The bound is needed because each of many empty list items can get a copy of a large default.
    """

    def __init__(self) -> None:
        self.left = MAX_DEFAULT_BYTES

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise DefaultsTooLarge(
                f"the defaults of the object are larger than {MAX_DEFAULT_BYTES} bytes"
            )


class _Job(NamedTuple):
    """What a walk does, and what it may spend."""

    task: Task
    budget: _Budget


def compile_walk(node: Node, task: Task, *, is_root: bool) -> Walk:
    """Compile the walk of a whole object; it raises `DefaultsTooLarge` over the size limit."""
    if Task.DEFAULT in task:
        return DefaultWalk(node, task, is_root=is_root).run
    return _compile(node, _Job(task, _Budget()), is_root=is_root, keeps=False) or _do_nothing


class DefaultWalk:
    """A walk that fills in defaults, up to the size limit for one object."""

    def __init__(self, node: Node, task: Task, *, is_root: bool) -> None:
        self._budget = _Budget()
        self._job = _Job(task, self._budget)
        self._walk = _compile(node, self._job, is_root=is_root, keeps=False) or _do_nothing

    def run(self, value: Any) -> list[str] | None:
        """Walk a whole object."""
        self._budget.left = MAX_DEFAULT_BYTES
        return self._walk(value)

    def run_after(self, attempt: Callable[[Any], bool]) -> Walk:
        """Return a walk that calls `attempt` first and continues only if that returns False."""
        budget, walk = self._budget, self._walk

        def run(value: Any) -> list[str] | None:
            budget.left = MAX_DEFAULT_BYTES
            return None if attempt(value) else walk(value)

        return run

    def find_factory(self, node: Node) -> Factory | None:
        """Return the function that makes the default of a node; None if it has no default."""
        if not node.has_default or node.default is None:
            return None
        return _build_factory(_fill_default(node, self._job), self._budget)

    def is_idle(self, node: Node) -> bool:
        """Whether there is nothing to fill in or drop below a node."""
        return _compile(node, self._job, keeps=False) is None


def _do_nothing(value: Any) -> list[str] | None:
    return None


def _compile(node: Node, job: _Job, *, is_root: bool = False, keeps: bool) -> Walk | None:
    """Compile the walk of one node; None if there is nothing to do.

    `keeps`: an enclosing list preserves unknown fields of its items.
    """
    keeps = keeps or node.preserve_unknown
    if node.type in _SCALARS or node.int_or_string:
        return _clear_objects if _clears(job, keeps=keeps) else None
    if node.items is not None:
        return _compile_list(node.items, job, keeps=keeps)
    return _compile_object(node, job, is_root=is_root, keeps=keeps)


def _clears(job: _Job, *, keeps: bool) -> bool:
    """Whether objects lose all members if the schema declares another type."""
    return Task.PRUNE in job.task and not keeps


def _compile_list(items: Node, job: _Job, *, keeps: bool) -> Walk | None:
    walk = _compile(items, job, keeps=keeps)
    null = _compile_null_factory(items, job) if Task.DEFAULT in job.task else None
    clears = _clears(job, keeps=keeps)
    if walk is None and null is None and not clears:
        return None
    return _ListWalk(walk or _do_nothing, null, clears=clears).run


class _ListWalk:
    """Walks the items of a list."""

    __slots__ = ("clears", "item", "null")

    def __init__(self, item: Walk, null: Factory | None, *, clears: bool) -> None:
        self.item = item
        self.null = null
        self.clears = clears

    def run(self, value: Any) -> list[str] | None:
        if type(value) is not list:
            return _clear_objects(value) if self.clears else None
        dropped: list[str] | None = None
        item = self.item
        if self.null is not None and None in value:
            value[:] = [self.null() if member is None else member for member in value]
        for index, member in enumerate(value):
            if (found := item(member)) is not None:
                dropped = dropped or []
                dropped += [f"[{index}]{path}" for path in found]
        return dropped


class _Unknown:
    """Marks undeclared members in the table of walks."""


_UNKNOWN = _Unknown()


class _Members(msgspec.Struct, frozen=True, eq=False):
    """The rules of a node for the members of its objects."""

    known: frozenset[str] | None
    """The declared members, which are kept; None if all members are kept."""
    walks: dict[str, Walk | None]
    other: Walk | _Unknown | None
    """The walk for undeclared members: those of a map, or the mark for unknown ones."""
    defaults: tuple[tuple[str, Factory], ...]
    refuses_null: Callable[[str], bool] | None
    other_null: Factory | None

    def is_idle(self) -> bool:
        """Whether there is nothing to do for any object."""
        return not (
            self.known is not None
            or self.defaults
            or self.other
            or self.refuses_null
            or any(self.walks.values())
        )

    def tidy(self, value: dict[str, Any]) -> list[str]:
        """Drop unknown members and nulls that are not allowed; a null in a map gets the default."""
        dropped: list[str] = []
        for key in list(value):
            if self.known is not None and key not in self.known:
                dropped.append(f".{key}")
                del value[key]
            elif value[key] is None and self.refuses_null is not None and self.refuses_null(key):
                if self.other_null is not None and key not in self.walks:
                    value[key] = self.other_null()
                else:
                    del value[key]
        return dropped


def _compile_object(node: Node, job: _Job, *, is_root: bool, keeps: bool) -> Walk | None:
    members = _compile_members(node, job, is_root=is_root, keeps=keeps)
    if members.is_idle():
        return None
    walk_of, other, defaults = members.walks.get, members.other, members.defaults
    clears = _clears(job, keeps=keeps)

    def walk_object(value: Any) -> list[str] | None:
        if type(value) is not dict:
            return _clear_objects(value) if clears else None
        dropped: list[str] | None = None
        is_tidy = True
        for key, member in value.items():
            walk = walk_of(key, other)
            if member is None or walk is _UNKNOWN:
                is_tidy = False
            elif (
                walk is not None
                and (type(member) is dict or type(member) is list)  # scalars lose nothing
                and (found := walk(member)) is not None  # type: ignore[operator] # not unknown
            ):
                dropped = dropped or []
                dropped += [f".{key}{path}" for path in found]
        if not is_tidy:
            dropped = members.tidy(value) + (dropped or []) or None
        for key, factory in defaults:
            if key not in value:
                value[key] = factory()
        return dropped

    return walk_object


def _compile_members(node: Node, job: _Job, *, is_root: bool, keeps: bool) -> _Members:
    is_resource = is_root or node.embedded_resource
    prunes, fills = Task.PRUNE in job.task, Task.DEFAULT in job.task
    walks: dict[str, Walk | None] = {
        key: None if is_resource and key in META else _compile(child, job, keeps=False)
        for key, child in node.properties.items()
    }
    if is_resource:
        walks |= dict.fromkeys(META)
    closed = prunes and not keeps and node.additional is None
    null = (
        _compile_null_factory(node.additional, job) if isinstance(node.additional, Node) else None
    )
    return _Members(
        known=frozenset(walks) if closed else None,
        walks=walks,
        other=_UNKNOWN if closed else _compile_additional(node, job),
        defaults=_compile_defaults(node, job) if fills else (),
        refuses_null=_compile_null_rule(node, job.task) if fills else None,
        other_null=null if fills else None,
    )


def _compile_additional(node: Node, job: _Job) -> Walk | None:
    if isinstance(node.additional, Node):
        return _compile(node.additional, job, keeps=False)
    if isinstance(node.additional, bool) and Task.PRUNE in job.task:
        return _clear_objects
    return None


def _clear_objects(value: Any) -> list[str] | None:
    """Remove all members of objects without a schema, at any depth of lists; scalars are kept."""
    if type(value) is dict and value:
        dropped = [f".{key}" for key in value]
        value.clear()
        return dropped
    if type(value) is list:
        dropped = [
            f"[{index}]{path}"
            for index, member in enumerate(value)
            for path in _clear_objects(member) or ()
        ]
        return dropped or None
    return None


def _compile_defaults(node: Node, job: _Job) -> tuple[tuple[str, Factory], ...]:
    return tuple(
        (key, _build_factory(_fill_default(child, job), job.budget))
        for key, child in node.properties.items()
        if child.has_default and child.default is not None
    )


def _build_factory(default: Any, budget: _Budget) -> Factory:
    size = len(json.encode(default)) + 1
    spend = budget.spend
    if not isinstance(default, dict | list):

        def give() -> Any:
            spend(size)
            return default

        return give

    def copy() -> Any:
        spend(size)
        return copy_value(default)

    return copy


def _fill_default(child: Node, job: _Job) -> Any:
    """Return the default of a node, filled in with the defaults below it."""
    default = copy_value(child.default)
    walk = _compile(child, _Job(Task.DEFAULT, job.budget), keeps=False)
    if walk is not None:
        job.budget.left = MAX_DEFAULT_BYTES
        walk(default)
    return default


def _compile_null_rule(node: Node, task: Task) -> Callable[[str], bool] | None:
    """Compile the test of which members drop a null: those that are not nullable.

    With `KEEP_NULLS` they must also have a default.
    """

    def drops(child: Node) -> bool:
        has_default = child.has_default and child.default is not None
        return not child.nullable and (has_default or Task.KEEP_NULLS not in task)

    declared = frozenset(key for key, child in node.properties.items() if drops(child))
    if isinstance(node.additional, Node) and drops(node.additional):
        allowed = frozenset(node.properties) - declared
        return lambda key: key not in allowed
    return declared.__contains__ if declared else None


def _compile_null_factory(node: Node, job: _Job) -> Factory | None:
    """Compile the default that replaces a null item or map value; None if there is none."""
    if node.nullable or not node.has_default or node.default is None:
        return None
    return _build_factory(_fill_default(node, job), job.budget)
