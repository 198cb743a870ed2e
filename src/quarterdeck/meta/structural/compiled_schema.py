"""Compiled schemas: the interface of this package.

A valid object is handled fast: `admit` walks its objects and lists once, and `validate` calls the
compiled test. Only an invalid object is walked a second time, slowly, to find the errors.

Each walk is compiled on first use, because a server with hundreds of definitions uses few of them.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import admit, duplicates, explain, fast
from quarterdeck.meta.structural.inlined.acceptance import build_acceptance
from quarterdeck.meta.structural.inlined.defaulting import build_defaulting
from quarterdeck.meta.structural.inlined.distinctness import build_distinctness
from quarterdeck.meta.structural.inlined.pruning import build_pruning_check
from quarterdeck.meta.structural.inlined.source import Check
from quarterdeck.meta.structural.inlined.warming import warm_up

MISSING = explain.MISSING


class Admitted(NamedTuple):
    """An object that was pruned or defaulted in place, and the fields that were dropped."""

    value: dict[str, Any]
    unknown: tuple[str, ...]
    """Dropped fields, sorted: `spec.foo`, `spec.items[0].bar`."""


class CompiledSchema(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One schema; each walk is compiled on first use. Build it with `compile_schema`."""

    node: Node
    is_root: bool

    @functools.cached_property
    def prune_walk(self) -> admit.Walk:
        """A function that drops unknown fields."""
        return admit.compile_walk(self.node, admit.Task.PRUNE, is_root=self.is_root)

    @functools.cached_property
    def default_walk(self) -> admit.Walk:
        """A function that sets defaults."""
        walk = admit.DefaultWalk(self.node, admit.Task.DEFAULT, is_root=self.is_root)
        return warm_up(
            vars(self), "default_walk", slow=walk.run, build=lambda: self._inline_default_walk(walk)
        )

    def _inline_default_walk(self, walk: admit.DefaultWalk) -> admit.Walk:
        attempt = build_defaulting(
            self.node, is_root=self.is_root, factory_of=walk.find_factory, is_idle=walk.is_idle
        )
        return walk.run_after(attempt)

    @functools.cached_property
    def default_walk_with_nulls(self) -> admit.Walk:
        """A function that sets defaults and keeps nulls."""
        tasks = admit.Task.DEFAULT | admit.Task.KEEP_NULLS
        return admit.compile_walk(self.node, tasks, is_root=self.is_root)

    @functools.cached_property
    def admit_walk(self) -> admit.Walk:
        """A function that drops unknown fields and sets defaults."""
        tasks = admit.Task.PRUNE | admit.Task.DEFAULT
        return admit.compile_walk(self.node, tasks, is_root=self.is_root)

    @functools.cached_property
    def is_valid(self) -> fast.Predicate:
        """A function that tests whether a value is valid, without finding the errors."""
        return warm_up(
            vars(self),
            "is_valid",
            slow=fast.compile_predicate(self.node),
            build=lambda: build_acceptance(self.node),
        )

    @functools.cached_property
    def is_unchanged_by_pruning(self) -> Check:
        """A quick test: true only if pruning and rounding change nothing.

        Numbers in the metadata of a whole object are not checked.
        """
        return warm_up(
            vars(self),
            "is_unchanged_by_pruning",
            slow=lambda _: False,
            build=lambda: build_pruning_check(self.node, is_root=self.is_root),
        )

    @functools.cached_property
    def duplicate_finder(self) -> duplicates.Finder | None:
        """A function that finds duplicate items; None if no list is a set or a map."""
        return duplicates.compile_finder(self.node)

    @functools.cached_property
    def has_no_duplicates(self) -> Check:
        """A quick test: true only if the lists of a value have no duplicate items."""
        return warm_up(
            vars(self),
            "has_no_duplicates",
            slow=lambda _: False,
            build=lambda: build_distinctness(self.node),
        )

    def compile_all(self) -> None:
        """Compile what the verbs of a server need; called in a thread for large schemas."""
        for compiled in (self.prune_walk, self.default_walk, self.is_valid, self.duplicate_finder):
            del compiled

    def admit(self, value: dict[str, Any]) -> Admitted:
        """Drop unknown fields, then fill in defaults: one walk, in place."""
        return Admitted(value, _sort_paths(self.admit_walk(value)))

    def prune(self, value: dict[str, Any]) -> Admitted:
        """Drop unknown fields in place; nulls are kept, even if they are not allowed."""
        return Admitted(value, _sort_paths(self.prune_walk(value)))

    def default(self, value: dict[str, Any], *, keeps_nulls: bool = False) -> None:
        """Fill in defaults and drop nulls that are not allowed, in place.

        With `keeps_nulls` they are kept, so that validation reports them.
        """
        (self.default_walk_with_nulls if keeps_nulls else self.default_walk)(value)

    def validate(self, value: Any, old: Any = MISSING, *, prefix: str = "") -> list[FieldError]:
        """Return the errors of a value, with the text and order of Kubernetes.

        With `old`, errors in unchanged parts are tolerated (ratcheting). `prefix` is the path of a
        part of an object; the messages contain only the path within the part.
        """
        if self.is_valid(value):
            return []
        errors = explain.explain(self.node, value, "", old=old)
        return [_with_prefix(error, prefix) for error in errors] if prefix else errors

    def find_duplicates(self, value: Any, path: str = "") -> list[FieldError]:
        """Find duplicate items of lists of type set or map."""
        if self.duplicate_finder is None or self.has_no_duplicates(value):
            return []
        return self.duplicate_finder(value, path)


def compile_schema(node: Node, *, is_root: bool = True) -> CompiledSchema:
    """Build a compiled schema; `apiVersion`, `kind` and `metadata` of a root are never pruned."""
    return CompiledSchema(node=node, is_root=is_root)


def _with_prefix(error: FieldError, prefix: str) -> FieldError:
    below = "" if error.field in ("", "<nil>") else f".{error.field}"
    return msgspec.structs.replace(error, field=prefix + below)


def _sort_paths(found: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(sorted(path.removeprefix(".") for path in found)) if found else ()
