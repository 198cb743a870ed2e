"""Updates field ownership: by writes and applies, with the conflicts between managers.

This is the algorithm of structured-merge-diff on tries. `Managers` maps an identity to the fields
it owns at a version; functions take one and return a new one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from quarterdeck.wire.apply.fieldset import (
    LEAF,
    Trie,
    intersect_tries,
    merge_tries,
    subtract_tries,
    subtract_tries_recursively,
)
from quarterdeck.wire.apply.identity import Identity
from quarterdeck.wire.apply.merger import merge, remove, with_named_fields
from quarterdeck.wire.apply.schema_type import Type
from quarterdeck.wire.apply.walk import (
    Comparison,
    compare,
    find_problems,
    is_equal,
    join_problems,
    list_fields,
)


class VersionedFields(msgspec.Struct, frozen=True):
    """The fields that one manager owns, in the version in which it wrote them."""

    fields: Trie
    api_version: str
    applied: bool


Managers = dict[Identity, VersionedFields]
Convert = Callable[[dict[str, Any], str], dict[str, Any] | None]
"""Converts an object to a version; None if there is no such version."""


class FieldConflict(Exception):
    """Raised when an apply would change fields of other managers; has the fields by manager."""

    def __init__(self, conflicts: Mapping[Identity, Trie]) -> None:
        super().__init__("apply conflicts")
        self.conflicts = dict(conflicts)


class ConversionFailed(Exception):
    """Raised when an object does not fit the schema of the version a manager wrote in."""


class Updater:
    """Updates managed fields by the types of a kind, except the fields an endpoint never owns."""

    def __init__(
        self,
        types: Callable[[str], Type | None],
        api_version: str,
        *,
        ignored: Trie,
        convert: Convert | None = None,
        checks_types: bool = False,
    ) -> None:
        self._checks_types = checks_types
        self._types = types
        self._version = api_version
        self._ignored = ignored
        self._convert = convert
        own = types(api_version)
        if own is None:
            raise ValueError(f"no schema for {api_version}")
        self.type = own

    def update(
        self, live: dict[str, Any], new: dict[str, Any], managers: Managers, manager: Identity
    ) -> Managers:
        """Add changed fields to the manager, and remove them from all others."""
        managers = self._reconcile_managers(live, managers)
        managers, change = self._resolve_ownership(live, new, managers, manager, force=True)
        mine = managers.get(manager)
        fields = subtract_tries(mine.fields, change.removed) if mine is not None else LEAF
        fields = merge_tries(merge_tries(fields, change.modified), change.added)
        fields = subtract_tries_recursively(fields, self._ignored)
        managers.pop(manager, None)
        if fields:
            managers[manager] = VersionedFields(fields, self._version, applied=False)
        return managers

    def apply(
        self,
        live: dict[str, Any],
        config: dict[str, Any],
        managers: Managers,
        manager: Identity,
        *,
        force: bool,
    ) -> tuple[dict[str, Any] | None, Managers]:
        """Merge a configuration; the object is None if it does not change.

        Raises:
            FieldConflict: if other managers own fields that would change, and `force` is not set.
        """
        managers = self._reconcile_managers(live, managers)
        merged = merge(live, config, self.type)
        last = managers.get(manager)
        fields = subtract_tries_recursively(list_fields(config, self.type), self._ignored)
        managers[manager] = VersionedFields(fields, self._version, applied=True)
        if last is not None and last.fields and last.fields != fields:
            merged = self._prune(merged, managers, last)
        if len(managers) > 1 or not fields:
            managers, _ = self._resolve_ownership(live, merged, managers, manager, force=force)
        return (None if is_equal(live, merged) else merged), managers

    def _resolve_ownership(
        self,
        live: dict[str, Any],
        new: dict[str, Any],
        managers: Managers,
        manager: Identity,
        *,
        force: bool,
    ) -> tuple[Managers, Comparison]:
        own = self._filter_ignored(compare(live, new, self.type))
        changes: dict[str, Comparison | None] = {self._version: own}
        result: Managers = {}
        conflicts: dict[Identity, Trie] = {}
        for name, owned in managers.items():
            if name == manager:
                result[name] = owned
                continue
            if owned.api_version not in changes:
                changes[owned.api_version] = self._compare_at(live, new, owned.api_version)
            change = changes[owned.api_version]
            if change is None:
                continue
            taken = intersect_tries(owned.fields, merge_tries(change.modified, change.added))
            if taken:
                conflicts[name] = taken
            result[name] = _subtract_fields(_subtract_fields(owned, taken), change.removed)
        if conflicts and not force:
            raise FieldConflict(conflicts)
        return {name: owned for name, owned in result.items() if owned.fields}, own

    def _filter_ignored(self, change: Comparison) -> Comparison:
        if not self._ignored:
            return change
        return Comparison(*(subtract_tries_recursively(part, self._ignored) for part in change))

    def _compare_at(
        self, live: dict[str, Any], new: dict[str, Any], version: str
    ) -> Comparison | None:
        kind = self._types(version)
        before = self._convert_to(live, version, "failed to convert old object: ")
        after = self._convert_to(new, version, "failed to convert new object: ")
        if kind is None or before is None or after is None:
            return None
        return self._filter_ignored(compare(before, after, kind))

    def _convert_to(
        self, value: dict[str, Any], version: str, failure: str = ""
    ) -> dict[str, Any] | None:
        """Convert an object to a version; `failure` begins the message if the result is invalid."""
        if version == self._version or self._convert is None:
            return value
        converted, kind = self._convert(value, version), self._types(version)
        if converted is not None and kind is not None and self._checks_types:
            problems = find_problems(converted, kind, unique=True)
            if problems:
                raise ConversionFailed(failure + join_problems(problems))
        return converted

    def _convert_back(self, value: dict[str, Any], version: str) -> dict[str, Any]:
        if version == self._version or self._convert is None:
            return value
        return self._convert(value, self._version) or value

    def _prune(
        self, merged: dict[str, Any], managers: Managers, last: VersionedFields
    ) -> dict[str, Any]:
        """Remove fields that the manager no longer applies and no other manager owns."""
        version = last.api_version
        failure = (
            "failed to prune fields: failed to convert merged object to last applied version: "
        )
        kind, converted = self._types(version), self._convert_to(merged, version, failure)
        if kind is None or converted is None:
            return merged
        previous = with_named_fields(last.fields, kind)
        owned = _group_by_version(managers)
        kept = with_named_fields(owned.pop(version, LEAF), kind)
        if not subtract_tries(previous, kept):
            return merged  # all of it is still owned, so nothing is removed
        before = _list_named_fields(converted, kind)
        pruned = remove(converted, previous, kind)
        kept = merge_tries(_list_named_fields(pruned, kind), kept)
        pruned = remove(converted, subtract_tries(before, kept), kind)
        if owned:
            pruned = self._add_back_owned(converted, pruned, owned, version)
        gone = subtract_tries(before, _list_named_fields(pruned, kind))
        return self._convert_back(remove(converted, intersect_tries(gone, previous), kind), version)

    def _add_back_owned(
        self, merged: dict[str, Any], pruned: dict[str, Any], owned: dict[str, Trie], first: str
    ) -> dict[str, Any]:
        """Add back the removed fields that managers own at other versions."""
        at = first
        for version in sorted(owned):
            kind = self._types(version)
            whole, part = self._move(merged, at, version), self._move(pruned, at, version)
            if kind is None or whole is None or part is None:
                continue
            merged, at = whole, version
            kept = merge_tries(
                _list_named_fields(part, kind), with_named_fields(owned[version], kind)
            )
            pruned = remove(merged, subtract_tries(_list_named_fields(merged, kind), kept), kind)
        return self._move(pruned, at, first) or pruned

    def _move(self, value: dict[str, Any], at: str, to: str) -> dict[str, Any] | None:
        if at == to or self._convert is None:
            return value
        return self._convert(value, to)

    def _reconcile_managers(self, live: dict[str, Any], managers: Managers) -> Managers:
        """Adapt field sets that were written under an older schema to the current one."""
        result: Managers = {}
        for name, owned in managers.items():
            kind = self._types(owned.api_version)
            if kind is None or self._convert_to(live, owned.api_version) is None:
                continue
            fields = _reconcile_root(owned.fields, kind)
            result[name] = (
                owned
                if fields is owned.fields
                else VersionedFields(fields, owned.api_version, applied=owned.applied)
            )
        return result


def _group_by_version(managers: Managers) -> dict[str, Trie]:
    owned: dict[str, Trie] = {}
    for manager in managers.values():
        before = owned.get(manager.api_version, LEAF)
        owned[manager.api_version] = merge_tries(before, manager.fields)
    return owned


def _subtract_fields(owned: VersionedFields, taken: Trie) -> VersionedFields:
    if not taken:
        return owned
    fields = subtract_tries(owned.fields, taken)
    if fields == owned.fields:
        return owned
    return VersionedFields(fields, owned.api_version, applied=owned.applied)


def _list_named_fields(value: dict[str, Any], kind: Type) -> Trie:
    return with_named_fields(list_fields(value, kind), kind)


def _reconcile_root(fields: Trie, kind: Type) -> Trie:
    return fields if kind.is_deduced_map else _reconcile_map(fields, kind)


def _reconcile_map(fields: Trie, kind: Type) -> Trie:
    changed: Trie = {}
    for element, node in fields.items():
        if not node or element[:2] != "f:":
            continue
        child = kind.find_member_type(element[2:])
        if child is not None and (inner := _reconcile(node, child)) is not node:
            changed[element] = inner
    return {**fields, **changed} if changed else fields


def _reconcile(node: Trie, kind: Type) -> Trie:
    """Replace the fields below a value that is atomic in the current schema by the value."""
    if kind.has_map:
        if kind.is_deduced_map:
            return node
        return LEAF if kind.map_atomic else _reconcile_map(node, kind)
    if kind.has_list and not kind.scalar:
        return LEAF if kind.list_atomic else _reconcile_list(node, kind)
    return node


def _reconcile_list(fields: Trie, kind: Type) -> Trie:
    changed: Trie = {}
    for element, node in fields.items():
        if node and (inner := _reconcile(node, kind.item)) is not node:
            changed[element] = inner
    return {**fields, **changed} if changed else fields
