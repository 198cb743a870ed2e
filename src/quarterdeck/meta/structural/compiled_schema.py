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
    def prunes(self) -> admit.Walk:
        """Drops unknown fields."""
        return admit.compile_walk(self.node, admit.Task.PRUNE, is_root=self.is_root)

    @functools.cached_property
    def fills(self) -> admit.Walk:
        """Fills in defaults."""
        walk = admit.DefaultWalk(self.node, admit.Task.DEFAULT, is_root=self.is_root)
        return warm_up(vars(self), "fills", slow=walk.run, build=lambda: self._inline_fills(walk))

    def _inline_fills(self, walk: admit.DefaultWalk) -> admit.Walk:
        attempt = build_defaulting(
            self.node, is_root=self.is_root, factory_of=walk.find_factory, is_idle=walk.is_idle
        )
        return walk.run_after(attempt)

    @functools.cached_property
    def fills_only(self) -> admit.Walk:
        """Fills in defaults, and drops no null."""
        tasks = admit.Task.DEFAULT | admit.Task.KEEP_NULLS
        return admit.compile_walk(self.node, tasks, is_root=self.is_root)

    @functools.cached_property
    def both(self) -> admit.Walk:
        """Drops unknown fields and fills in defaults."""
        tasks = admit.Task.PRUNE | admit.Task.DEFAULT
        return admit.compile_walk(self.node, tasks, is_root=self.is_root)

    @functools.cached_property
    def accepts(self) -> fast.Predicate:
        """Tests whether a value is valid, without the errors."""
        return warm_up(
            vars(self),
            "accepts",
            slow=fast.compile_predicate(self.node),
            build=lambda: build_acceptance(self.node),
        )

    @functools.cached_property
    def is_ordinary(self) -> Check:
        """Quick test: true only if pruning and rounding change nothing.

        Numbers in the metadata of a whole object are not checked.
        """
        return warm_up(
            vars(self),
            "is_ordinary",
            slow=lambda _: False,
            build=lambda: build_pruning_check(self.node, is_root=self.is_root),
        )

    @functools.cached_property
    def repeats(self) -> duplicates.Finder | None:
        """Finds duplicate items; None if no list of the schema is a set or a map."""
        return duplicates.compile_finder(self.node)

    @functools.cached_property
    def is_distinct(self) -> Check:
        """Quick test: true only if the lists of a value have no duplicate items."""
        return warm_up(
            vars(self),
            "is_distinct",
            slow=lambda _: False,
            build=lambda: build_distinctness(self.node),
        )

    def compile_all(self) -> None:
        """Compile what the verbs of a server need; called in a thread for large schemas."""
        for compiled in (self.prunes, self.fills, self.accepts, self.repeats):
            del compiled

    def admit(self, value: dict[str, Any]) -> Admitted:
        """Drop unknown fields, then fill in defaults: one walk, in place."""
        return Admitted(value, _sort_paths(self.both(value)))

    def prune(self, value: dict[str, Any]) -> Admitted:
        """Drop unknown fields in place; nulls are kept, even if they are not allowed."""
        return Admitted(value, _sort_paths(self.prunes(value)))

    def default(self, value: dict[str, Any], *, keeps_nulls: bool = False) -> None:
        """Fill in defaults and drop nulls that are not allowed, in place.

        With `keeps_nulls` they are kept, so that validation reports them.
        """
        (self.fills_only if keeps_nulls else self.fills)(value)

    def validate(self, value: Any, old: Any = MISSING, *, prefix: str = "") -> list[FieldError]:
        """Return the errors of a value, with the text and order of Kubernetes.

        With `old`, errors in unchanged parts are tolerated (ratcheting). `prefix` is the path of a
        part of an object; the messages contain only the path within the part.
        """
        if self.accepts(value):
            return []
        errors = explain.explain(self.node, value, "", old=old)
        return [_with_prefix(error, prefix) for error in errors] if prefix else errors

    def find_duplicates(self, value: Any, path: str = "") -> list[FieldError]:
        """Find duplicate items of lists of type set or map."""
        if self.repeats is None or self.is_distinct(value):
            return []
        return self.repeats(value, path)


def compile_schema(node: Node, *, is_root: bool = True) -> CompiledSchema:
    """Build a compiled schema; `apiVersion`, `kind` and `metadata` of a root are never pruned."""
    return CompiledSchema(node=node, is_root=is_root)


def _with_prefix(error: FieldError, prefix: str) -> FieldError:
    below = "" if error.field in ("", "<nil>") else f".{error.field}"
    return msgspec.structs.replace(error, field=prefix + below)


def _sort_paths(found: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(sorted(path.removeprefix(".") for path in found)) if found else ()
