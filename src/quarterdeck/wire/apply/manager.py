"""The field manager of one endpoint: keeps managedFields through every write.

Pure: the time is handed in. `update` follows writes that were already merged (POST, PUT, patches
other than apply), `apply` merges a configuration itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from quarterdeck.meta.schema import Node
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
from quarterdeck.wire.apply.schema_type import ItemError, Type, build_root_type
from quarterdeck.wire.apply.typed_objects import (
    FIRST_APPLY,
    TypedObjects,
    get_metadata,
    remove_managed_fields,
)
from quarterdeck.wire.apply.updater import (
    ConversionFailed,
    Convert,
    FieldConflict,
    Updater,
    VersionedFields,
)
from quarterdeck.wire.status import ApiError

_SELF = Identity("current-operation", "")
_BEFORE_APPLY = "before-first-apply"
_KUBECTL = "kubectl"


class _Applier(NamedTuple):
    """The manager of an apply, its time, and whether fields of others are taken over."""

    name: str
    force: bool
    now: str


class FieldManager:
    """Keeps the managedFields of one kind at one version and endpoint.

    Args:
        node: the kind's schema.
        api_version: the version of the endpoint.
        subresource: such as `status`; empty for the object itself.
        reset: fields this endpoint drops from requests, as dotted paths or a set.
        versions: schemas of the kind's other versions; entries of versions that are not in it are
            dropped. Without it every version has the schema of this one.
        convert: converts an object to another version; without it versions differ in name only.
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
        self._ignored = (reset if isinstance(reset, FieldSet) else FieldSet.of(*reset)).trie
        self._updater = Updater(
            self._get_type,
            api_version,
            ignored=self._ignored,
            convert=convert,
            checks_types=not node.type_name,
        )
        self._objects = TypedObjects(node, self._updater.type, api_version)
        self._new_fields = KnownShapes(self._updater.type, self._list_new_fields)

    def _get_type(self, api_version: str) -> Type | None:
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
        """Return the new object with managedFields that record the changes of `manager`.

        Valid managedFields in `new` replace the stored ones (an empty list or one empty entry
        resets all ownership), except through a subresource.
        """
        if (
            live is None
            and not self._objects.is_builtin
            and "managedFields" not in get_metadata(new)
        ):
            return self._own_new(new, manager or "unknown", now)
        managed = self._decode_live_or_new(live, new)
        before = remove_managed_fields(live) if live is not None else self._objects.build_empty({})
        after = remove_managed_fields(new)
        if not managed.owners and get_metadata(live).get("uid"):
            return after
        if not (self._objects.fits(after) and self._objects.fits(before)):
            return after
        try:
            managed = self._update(before, after, managed, manager or "unknown", now)
        except (ItemError, ConversionFailed):
            return after
        return _with_entries(after, managed)

    def _own_new(self, new: Mapping[str, Any], manager: str, now: str) -> dict[str, Any]:
        """Record the creator of a new custom object: `update` without a comparison."""
        value = dict(new)
        if not self._objects.fits(value):
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
        value["metadata"] = {**get_metadata(value), "managedFields": [entry]}
        return value

    def _list_new_fields(self, new: Mapping[str, Any]) -> Trie:
        """List the fields that a creator owns: all but those this endpoint drops."""
        return subtract_tries_recursively(list_new_fields(new, self._updater.type), self._ignored)

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
                mine = VersionedFields(fields, mine.api_version, applied=mine.applied)
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
            Conflict: if other managers own fields that would change, and `force` is not set.
            BadRequest: if the configuration holds managedFields.
            ApiError: 500 if it does not fit the schema, as Kubernetes answers it.
        """
        self._objects.check_applied(config)
        before = (
            remove_managed_fields(live) if live is not None else self._objects.build_empty(config)
        )
        managed = self._decode(live)
        if not managed.owners and live is not None:
            self._objects.check_live(before, FIRST_APPLY)
        if not managed.owners:
            managed = self._update(
                self._objects.build_empty(config), before, managed, _BEFORE_APPLY, now
            )
        self._objects.check_live(before)
        try:
            merged, managed = self._apply_allowing_kubectl(
                before, dict(config), managed, _Applier(manager, force, now)
            )
        except FieldConflict as error:
            raise build_conflict(error) from None
        except ConversionFailed as error:
            raise ApiError(str(error)) from None
        except ItemError as error:
            raise ApiError(f"failed to merge config: {error}") from None
        if manager == _KUBECTL:
            merged = with_last_applied(merged, config)
        return _with_entries(self._objects.normalize(merged, before, config), managed)

    def _apply_allowing_kubectl(
        self,
        live: dict[str, Any],
        config: dict[str, Any],
        managed: Managed,
        applier: _Applier,
    ) -> tuple[dict[str, Any], Managed]:
        """Apply; kubectl may take over fields that it set by client-side apply before."""
        try:
            return self._apply(live, config, managed, applier)
        except FieldConflict as error:
            allowed = self._find_allowed_conflicts(live) if applier.name == _KUBECTL else None
            if allowed is None:
                raise
            if rest := drop_allowed(error.conflicts, allowed):
                raise FieldConflict(rest) from None
        return self._apply(live, config, managed, applier._replace(force=True))

    def _find_allowed_conflicts(self, live: dict[str, Any]) -> Trie | None:
        return find_allowed_conflicts(live, self._updater.type, self._api_version)

    def _apply(
        self,
        live: dict[str, Any],
        config: dict[str, Any],
        managed: Managed,
        applier: _Applier,
    ) -> tuple[dict[str, Any], Managed]:
        key = self._build_identity(applier.name or "unknown", APPLY)
        merged, owners = self._updater.apply(live, config, managed.owners, key, force=applier.force)
        times = dict(managed.times)
        mine = _strip_fields(owners.pop(key, None))
        if mine is not None:
            owners[key] = mine
        if merged is not None:
            times[key] = applier.now
        return (live if merged is None else merged), Managed(owners, times)

    def _decode(self, live: Mapping[str, Any] | None) -> Managed:
        try:
            return managed_fields.decode(get_metadata(live).get("managedFields") or ())
        except ManagedFieldsError as error:
            raise ApiError(f"failed to decode managed fields: {error}") from None

    def _decode_live_or_new(
        self, live: Mapping[str, Any] | None, new: Mapping[str, Any]
    ) -> Managed:
        sent = get_metadata(new).get("managedFields")
        if not self._subresource:
            if managed_fields.is_reset(sent):
                return Managed({}, {})
            try:
                managed = managed_fields.decode(sent or ())
                if managed.owners:
                    return managed
            except ManagedFieldsError:
                pass  # invalid entries count as absent: the live ones are used
        try:
            return managed_fields.decode(get_metadata(live).get("managedFields") or ())
        except ManagedFieldsError:
            return Managed({}, {})

    def _build_identity(self, manager: str, operation: str) -> Identity:
        return Identity.of(
            manager, operation, api_version=self._api_version, subresource=self._subresource
        )


def _with_entries(value: dict[str, Any], managed: Managed) -> dict[str, Any]:
    if not managed.owners:
        return value
    metadata = {**get_metadata(value), "managedFields": managed_fields.encode(managed)}
    return {**value, "metadata": metadata}


def _strip_fields(owned: VersionedFields | None) -> VersionedFields | None:
    if owned is None:
        return None
    fields = subtract_tries(owned.fields, UNOWNED)
    return VersionedFields(fields, owned.api_version, applied=owned.applied) if fields else None
