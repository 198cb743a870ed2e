"""The field manager of one endpoint: keeps managedFields through every write.

Pure: the time is handed in. `update` follows writes that were already merged (POST, PUT, patches
other than apply), `apply` merges a configuration itself.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import fast
from quarterdeck.meta.structural.inlined.acceptance import build_acceptance
from quarterdeck.meta.structural.inlined.warming import warm_up
from quarterdeck.wire.apply import managed_fields
from quarterdeck.wire.apply.client_side_apply import find_allowed_conflicts, with_last_applied
from quarterdeck.wire.apply.conflicts import build_conflict, drop_allowed
from quarterdeck.wire.apply.fieldset import (
    FieldSet,
    Trie,
    merge_tries,
    subtract_tries,
    subtract_tries_recursively,
)
from quarterdeck.wire.apply.identity import APPLY, UPDATE, Identity
from quarterdeck.wire.apply.known_shapes import KnownShapes
from quarterdeck.wire.apply.managed_fields import Managed, ManagedFieldsError
from quarterdeck.wire.apply.manager_limit import merge_oldest_managers
from quarterdeck.wire.apply.new_fields import UNOWNED, list_new_fields
from quarterdeck.wire.apply.nulls import drop_new_nulls
from quarterdeck.wire.apply.schema_type import ItemError, Type, build_root_type
from quarterdeck.wire.apply.updater import (
    ConversionFailed,
    Convert,
    Disagreement,
    Owned,
    Updater,
)
from quarterdeck.wire.apply.walk import find_problems, join_problems
from quarterdeck.wire.status import ApiError, BadRequest

_SELF = Identity("current-operation", "")
_BEFORE_APPLY = "before-first-apply"
_FIRST_APPLY = (
    "failed to create manager for existing fields: failed to convert new object ({}) to smd typed"
)
_LATER_APPLY = "failed to create typed live object ({})"
_KUBECTL = "kubectl"


class FieldManager:
    """Keeps the managedFields of one kind at one version and endpoint.

    Args:
        node: the kind's schema.
        api_version: the version requests come in.
        subresource: `status` and the like; empty for the object itself.
        reset: fields this endpoint drops from requests, as dotted paths or a set.
        versions: schemas of the kind's other versions; entries of versions that are not there
            are forgotten. Without it every version has the schema of this one.
        convert: brings an object to another version; without it versions differ in name only.
    """

    def __init__(
        self,
        node: Node,
        api_version: str,
        *,
        subresource: str = "",
        reset: FieldSet | Iterable[str] = (),
        versions: Mapping[str, Node] | None = None,
        convert: Convert | None = None,
    ) -> None:
        self._api_version = api_version
        self._subresource = subresource
        self._versions = versions
        self._types: dict[str, Type] = {api_version: build_root_type(node)}
        self._node = node
        self._type_name = node.type_name
        self._ignored = (reset if isinstance(reset, FieldSet) else FieldSet.of(*reset)).trie
        self._updater = Updater(
            self._type_at,
            api_version,
            ignored=self._ignored,
            convert=convert,
            checks_types=not node.type_name,
        )
        self._new_fields = KnownShapes(self._updater.type, self._list_new_fields)

    def _type_at(self, api_version: str) -> Type | None:
        if (found := self._types.get(api_version)) is not None:
            return found
        if self._versions is None:
            return self._types[self._api_version]
        node = self._versions.get(api_version)
        if node is None:
            return None
        self._types[api_version] = found = build_root_type(node)
        return found

    def update(
        self,
        live: Mapping[str, Any] | None,
        new: Mapping[str, Any],
        *,
        manager: str,
        now: str,
    ) -> dict[str, Any]:
        """The new object with managedFields that say who changed what.

        What the client sent as managedFields counts when it can be read (an empty list or one
        empty entry forgets everything), except through a subresource.
        """
        if live is None and not self._type_name and "managedFields" not in _get_metadata(new):
            return self._own_new(new, manager or "unknown", now)
        managed = self._decode_live_or_new(live, new)
        before = _without_managed_fields(live) if live is not None else self._build_empty({})
        after = _without_managed_fields(new)
        if not managed.owners and _get_metadata(live).get("uid"):
            return after
        if not (self._fits(after) and self._fits(before)):
            return after
        try:
            managed = self._update(before, after, managed, manager or "unknown", now)
        except (ItemError, ConversionFailed):
            return after
        return _with_entries(after, managed)

    def _own_new(self, new: Mapping[str, Any], manager: str, now: str) -> dict[str, Any]:
        """A new custom object that its creator owns: `update` without anything to compare with."""
        value = dict(new)
        if not self._fits(value):
            return value
        try:
            fields = self._new_fields.list_fields(value)
        except ItemError:
            return value
        if not fields:
            return value
        entry = managed_fields.build_update_entry(
            manager, self._api_version, fields, time=now, subresource=self._subresource
        )
        value["metadata"] = {**_get_metadata(value), "managedFields": [entry]}
        return value

    def _list_new_fields(self, new: Mapping[str, Any]) -> Trie:
        """The fields a creator owns: all but those this endpoint drops."""
        return subtract_tries_recursively(list_new_fields(new, self._updater.type), self._ignored)

    def _fits(self, value: dict[str, Any]) -> bool:
        """Whether an object has the types of the schema; those of built-in kinds always do.

        Kubernetes forgets the entries where it does not.
        """
        if self._type_name:
            return True
        return self._accepts(value) or not find_problems(value, self._updater.type, unique=False)

    def _update(
        self,
        before: dict[str, Any],
        after: dict[str, Any],
        managed: Managed,
        manager: str,
        now: str,
    ) -> Managed:
        owners = self._updater.update(before, after, dict(managed.owners), _SELF)
        times = dict(managed.times)
        mine = _strip_fields(owners.pop(_SELF, None))
        if mine is not None:
            key = self._build_identity(manager, UPDATE)
            previous = owners.get(key)
            if previous is not None:
                fields = merge_tries(mine.fields, previous.fields)
                mine = Owned(fields, mine.api_version, applied=mine.applied)
            owners[key] = mine
            times[key] = now
        return merge_oldest_managers(Managed(owners, times))

    def apply(
        self,
        live: Mapping[str, Any] | None,
        config: Mapping[str, Any],
        *,
        manager: str,
        force: bool,
        now: str,
    ) -> dict[str, Any]:
        """Merge an applied configuration and return the object with its managedFields.

        Raises:
            Conflict: if others own what would change and `force` is not set.
            BadRequest: if the configuration holds managedFields.
            ApiError: 500 if it does not fit the schema, as Kubernetes answers it.
        """
        self._check(config)
        before = _without_managed_fields(live) if live is not None else self._build_empty(config)
        managed = self._decode(live)
        if not managed.owners and live is not None:
            self._check_live(before, _FIRST_APPLY)
        if not managed.owners:
            managed = self._update(self._build_empty(config), before, managed, _BEFORE_APPLY, now)
        self._check_live(before)
        try:
            merged, managed = self._apply_allowing_kubectl(
                before, dict(config), managed, manager, force=force, now=now
            )
        except Disagreement as error:
            raise build_conflict(error) from None
        except ConversionFailed as error:
            raise ApiError(str(error)) from None
        except ItemError as error:
            raise ApiError(f"failed to merge config: {error}") from None
        if manager == _KUBECTL:
            merged = with_last_applied(merged, config)
        return _with_entries(self._normalize(merged, before, config), managed)

    def _apply_allowing_kubectl(
        self,
        live: dict[str, Any],
        config: dict[str, Any],
        managed: Managed,
        manager: str,
        *,
        force: bool,
        now: str,
    ) -> tuple[dict[str, Any], Managed]:
        """Kubectl may take over what it set itself by client-side apply before."""
        try:
            return self._apply(live, config, managed, manager, force=force, now=now)
        except Disagreement as error:
            allowed = self._find_allowed_conflicts(live) if manager == _KUBECTL else None
            if allowed is None:
                raise
            if rest := drop_allowed(error.conflicts, allowed):
                raise Disagreement(rest) from None
        return self._apply(live, config, managed, manager, force=True, now=now)

    def _find_allowed_conflicts(self, live: dict[str, Any]) -> Trie | None:
        return find_allowed_conflicts(live, self._updater.type, self._api_version)

    def _apply(
        self,
        live: dict[str, Any],
        config: dict[str, Any],
        managed: Managed,
        manager: str,
        *,
        force: bool,
        now: str,
    ) -> tuple[dict[str, Any], Managed]:
        key = self._build_identity(manager or "unknown", APPLY)
        merged, owners = self._updater.apply(live, config, managed.owners, key, force=force)
        times = dict(managed.times)
        mine = _strip_fields(owners.pop(key, None))
        if mine is not None:
            owners[key] = mine
        if merged is not None:
            times[key] = now
        return (live if merged is None else merged), Managed(owners, times)

    def _check(self, config: Mapping[str, Any]) -> None:
        if _get_metadata(config).get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        if found := find_problems(config, self._updater.type, unique=True):
            problems = join_problems(found)
            raise ApiError(
                f"failed to create typed patch object ({self._name_of(config)}): {problems}"
            )

    def _check_live(self, live: dict[str, Any], failure: str = _LATER_APPLY) -> None:
        """Refuse to apply to an object that has other types than its schema has by now."""
        if self._type_name or self._accepts(live):
            return
        if found := find_problems(live, self._updater.type, unique=False):
            problems = join_problems(found)
            raise ApiError(f"{failure.format(self._name_of(live))}: {problems}")

    @functools.cached_property
    def _accepts(self) -> fast.Predicate:
        """Tests quickly whether an object is valid, which nearly all are."""
        return warm_up(
            vars(self),
            "_accepts",
            slow=fast.compile_predicate(self._node),
            build=lambda: build_acceptance(self._node),
        )

    def _name_of(self, config: Mapping[str, Any]) -> str:
        metadata = _get_metadata(config)
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        version = self._api_version if "/" in self._api_version else f"/{self._api_version}"
        return f"{where}; {version}, Kind={config.get('kind', '')}"

    def _decode(self, live: Mapping[str, Any] | None) -> Managed:
        try:
            return managed_fields.decode(_get_metadata(live).get("managedFields") or ())
        except ManagedFieldsError as error:
            raise ApiError(f"failed to decode managed fields: {error}") from None

    def _decode_live_or_new(
        self, live: Mapping[str, Any] | None, new: Mapping[str, Any]
    ) -> Managed:
        sent = _get_metadata(new).get("managedFields")
        if not self._subresource:
            if managed_fields.is_reset(sent):
                return Managed({}, {})
            try:
                managed = managed_fields.decode(sent or ())
                if managed.owners:
                    return managed
            except ManagedFieldsError:
                pass  # what cannot be read is as good as absent: the live entries count
        try:
            return managed_fields.decode(_get_metadata(live).get("managedFields") or ())
        except ManagedFieldsError:
            return Managed({}, {})

    def _build_identity(self, manager: str, operation: str) -> Identity:
        return Identity.of(
            manager, operation, api_version=self._api_version, subresource=self._subresource
        )

    def _find_conversion_error(self, merged: dict[str, Any]) -> str | None:
        from quarterdeck.meta import builtins
        from quarterdeck.meta.identity import GVK

        group, _, version = self._api_version.rpartition("/")
        kind = GVK(group, version, str(merged.get("kind") or ""))
        return builtins.find_conversion_error(merged, kind) if builtins.is_builtin(kind) else None

    def _build_empty(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The object before its creation: Go's zero values for a built-in kind."""
        kind = {name: config[name] for name in ("apiVersion", "kind") if name in config}
        if not self._type_name:
            return kind
        from quarterdeck.meta import builtins

        return kind | _without_managed_fields(builtins.build_zero_type(self._type_name))

    def _normalize(
        self, merged: dict[str, Any], live: dict[str, Any], config: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A built-in object as its Go type writes it; others without the nulls merging left."""
        if not self._type_name:
            return drop_new_nulls(merged, live, self._node, config)
        from quarterdeck.meta import builtins

        decoded = builtins.decode_type(merged, self._type_name)
        if decoded.error is not None:
            version = self._api_version if "/" in self._api_version else f"/{self._api_version}"
            raise ApiError(
                f"failed to convert new object ({self._name_of(config)}) to proper version: unable"
                f" to convert unstructured object to {version}, Kind={config.get('kind', '')}:"
                f" {self._find_conversion_error(merged) or decoded.error}"
            )
        return decoded.object


def _get_metadata(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    metadata = value.get("metadata") if value is not None else None
    return metadata if isinstance(metadata, dict) else {}


def _without_managed_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without managedFields."""
    result = dict(value)
    metadata = result.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        result["metadata"] = {
            name: part for name, part in metadata.items() if name != "managedFields"
        }
    return result


def _with_entries(value: dict[str, Any], managed: Managed) -> dict[str, Any]:
    if not managed.owners:
        return value
    metadata = {**_get_metadata(value), "managedFields": managed_fields.encode(managed)}
    return {**value, "metadata": metadata}


def _strip_fields(owned: Owned | None) -> Owned | None:
    if owned is None:
        return None
    fields = subtract_tries(owned.fields, UNOWNED)
    return Owned(fields, owned.api_version, applied=owned.applied) if fields else None
