"""A schema made ready for objects: the face of this package.

The road of a good object is short: `admit` walks the objects and lists in it once, `validate` asks
the compiled test and is done. Only a refused object is walked a second time, slowly, to say why.

Each walk is compiled when it is first needed: a server that starts with hundreds of definitions is
asked for a few of them.
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
    """An object in the shape of its schema; the object itself was changed in place."""

    value: dict[str, Any]
    unknown: tuple[str, ...]
    """Dropped fields, sorted: `spec.foo`, `spec.items[0].bar`."""


class CompiledSchema(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One schema, compiled part by part. Build it with `compile_schema`."""

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
        """Tests a value without saying what is wrong with it."""
        return warm_up(
            vars(self),
            "accepts",
            slow=fast.compile_predicate(self.node),
            build=lambda: build_acceptance(self.node),
        )

    @functools.cached_property
    def is_ordinary(self) -> Check:
        """Tells of some objects that pruning them and rounding their numbers changes nothing.

        Numbers in the metadata of a whole object are not looked at.
        """
        return warm_up(
            vars(self),
            "is_ordinary",
            slow=lambda _: False,
            build=lambda: build_pruning_check(self.node, is_root=self.is_root),
        )

    @functools.cached_property
    def repeats(self) -> duplicates.Finder | None:
        """Finds doubled members; none where no list of the schema is a set or a map."""
        return duplicates.compile_finder(self.node)

    @functools.cached_property
    def is_distinct(self) -> Check:
        """Tells of some values that they have no doubled members."""
        return warm_up(
            vars(self),
            "is_distinct",
            slow=lambda _: False,
            build=lambda: build_distinctness(self.node),
        )

    def compile_all(self) -> None:
        """Compile what the verbs of a server need, now: for schemas that take long, in a thread."""
        for compiled in (self.prunes, self.fills, self.accepts, self.repeats):
            del compiled

    def admit(self, value: dict[str, Any]) -> Admitted:
        """Drop unknown fields, then fill in defaults: one walk, in place."""
        return Admitted(value, _sort_paths(self.both(value)))

    def prune(self, value: dict[str, Any]) -> Admitted:
        """Drop what the schema does not know, in place; `null` where none may stand is kept."""
        return Admitted(value, _sort_paths(self.prunes(value)))

    def default(self, value: dict[str, Any], *, keeps_nulls: bool = False) -> None:
        """Fill in defaults and drop `null` where none may stand, in place.

        `keeps_nulls` leaves those for validation to find.
        """
        (self.fills_only if keeps_nulls else self.fills)(value)

    def validate(self, value: Any, old: Any = MISSING, *, prefix: str = "") -> list[FieldError]:
        """What is wrong with a value, in Kubernetes' words and order.

        With `old`, mistakes in parts that did not change are tolerated (ratcheting). `prefix` is
        where a part of an object stands; the sentences still name the path within the part.
        """
        if self.accepts(value):
            return []
        errors = explain.explain(self.node, value, "", old=old)
        return [_with_prefix(error, prefix) for error in errors] if prefix else errors

    def find_duplicates(self, value: Any, path: str = "") -> list[FieldError]:
        """Doubled members of sets and of lists that are maps."""
        if self.repeats is None or self.is_distinct(value):
            return []
        return self.repeats(value, path)


def compile_schema(node: Node, *, is_root: bool = True) -> CompiledSchema:
    """Compile a schema; the root of an object never loses `apiVersion`, `kind` and `metadata`."""
    return CompiledSchema(node=node, is_root=is_root)


def _with_prefix(error: FieldError, prefix: str) -> FieldError:
    below = "" if error.field in ("", "<nil>") else f".{error.field}"
    return msgspec.structs.replace(error, field=prefix + below)


def _sort_paths(found: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(sorted(path.removeprefix(".") for path in found)) if found else ()
