"""Updates of objects, decided on their newest state."""

import functools

import msgspec

from quarterdeck.meta.field import Bare, invalid, quote
from quarterdeck.meta.release import has_feature
from quarterdeck.server.core import Core
from quarterdeck.server.core.durability import wait_until_durable
from quarterdeck.server.registry.codec import build_encoder, decode_stored
from quarterdeck.server.registry.deletion import is_finished
from quarterdeck.server.registry.metadata_checks import get_kind_checks, validate_changed_metadata
from quarterdeck.server.registry.resource import Context, Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.result import (
    MODIFIED,
    Change,
    WriteOptions,
    WriteResult,
    build_attributes,
    build_bounded_encoder,
    build_conflict,
    build_dry_result,
    build_result,
    get_current,
    validate_in_thread,
    validate_inline,
    wait_for_completion,
    with_metadata_errors,
)
from quarterdeck.server.write.service_endpoints import delete_endpoints
from quarterdeck.storage import Entry, RevisionConflict
from quarterdeck.wire.status import ApiError, Conflict, Invalid

_ATTEMPTS = 64
_LARGEST_VERSION = 2**64 - 1
_MAX_DIGITS = 20
_STORED_BY_GROUP = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
_STORED_NAMES = {
    "endpoints": "services/endpoints",
    "ingresses": "ingress",
    "nodes": "minions",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
"""The names of resources in Kubernetes' etcd keys, if they differ from the resource name."""
_KEPT_METADATA = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
)


class _StoredVersion(msgspec.Struct, rename={"api_version": "apiVersion"}):
    """The apiVersion of a stored object; decoding only this is ten times as fast."""

    api_version: str = ""


_STORED = msgspec.json.Decoder(_StoredVersion)


async def update(
    core: Core, call: Call, change: Change, write_options: WriteOptions, *, track: bool = True
) -> WriteResult:
    """Update a stored object; `change` is called again after a conflict with another write.

    Raises:
        ApiError: as in Kubernetes; nothing is stored then.
    """
    for _ in range(_ATTEMPTS):
        try:
            return await _try_update(core, call, change, write_options, track=track)
        except RevisionConflict:
            continue
    raise build_conflict(call, MODIFIED)


async def _try_update(
    core: Core, call: Call, change: Change, write_options: WriteOptions, *, track: bool
) -> WriteResult:
    """Update the newest state of the object; raises `RevisionConflict` if it changes meanwhile."""
    entry = get_current(core, call)
    size = max(len(entry.value), len(call.body or b""))
    context = core.build_context(
        call.user.name, call.path.namespace, write_options.subresource, is_quick=True
    )
    manager = write_options.manager if track else None
    field_managers.prepare(core, call)
    if core.worker.is_quick(size):
        old, value = _change_entry(core, call, entry, change, manager=manager)
    else:
        old, value = await core.worker.run_in_thread(
            lambda: _change_entry(core, call, entry, change, manager=manager)
        )
    attempt = build_attributes(call, "update", write_options, value=value, old=old)
    if (pending := core.admission.admit_all(attempt)) is not None:
        await pending
    if attempt.value is not None and attempt.value is not value:
        value = attempt.value
        _keep_metadata(value["metadata"], old["metadata"])
    if core.worker.is_quick(size):
        _prepare(call, value, old, context)
    else:
        await core.worker.run_in_thread(lambda: _prepare(call, value, old, context))
    validate = functools.partial(_validate_changed, call, value, old)
    if not validate_inline(core, size, context, validate):
        await validate_in_thread(core, context, validate)
    if (pending := core.admission.validate_all(attempt)) is not None:
        await pending
    core.admission.charge(attempt)
    return await _store_changed(
        core, call, entry, value=value, old=old, write_options=write_options
    )


def _prepare(call: Call, value: Object, old: Object, context: Context) -> None:
    """Restore what this endpoint may not change, and increase the generation if needed."""
    strategy = call.resource.strategy
    strategy.prepare_update(value, old, context)
    if strategy.bumps_generation(value, old, context):
        value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _change_entry(
    core: Core, call: Call, entry: Entry, change: Change, *, manager: str | None
) -> tuple[Object, Object]:
    """Return the stored object, and the changed one; `manager` is recorded unless it is None."""
    old = decode_stored(call.resource, entry.value)
    value = change(old)
    check_identity(call, value["metadata"], old["metadata"])
    strategy = call.resource.strategy
    (strategy.default_applied if manager is None else strategy.default)(value)
    _keep_metadata(value["metadata"], old["metadata"])
    if manager is not None:
        value = field_managers.track_fields(core, call, value, old, manager=manager)
    return old, value


def check_identity(call: Call, metadata: Object, old: Object) -> None:
    """Check that uid and resourceVersion of an update match those of the stored object.

    Raises:
        Conflict: if the uid or the resourceVersion differs.
        Invalid: if a patch changes the uid, or a required resourceVersion is missing.
    """
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != old.get("uid") and call.verb == "patch":
        problem = invalid("metadata.uid", uid, "field is immutable")
        count = 1 + get_kind_checks(call.resource, call.path.subresource).changes
        raise Invalid.of(
            call.resource.kind, call.path.name, [problem] * count, group=call.resource.error_group
        )
    if uid and uid != old.get("uid"):
        raise _build_uid_conflict(call, uid, old.get("uid") or "")
    if version and version.strip("0"):
        check_resource_version(version)
        if version != old.get("resourceVersion"):
            raise build_conflict(call, MODIFIED)
    elif not call.resource.strategy.allow_unconditional_update:
        problem = invalid(
            "metadata.resourceVersion", Bare("0x0"), "must be specified for an update"
        )
        gvr = call.resource.gvr
        raise Invalid.of(gvr.resource, call.path.name, [problem], group=gvr.group)


def check_absent_uid(call: Call, metadata: Object) -> None:
    """Refuse an update with a uid if the object does not exist.

    Newer releases check this only for kinds that an update may create; objects of other kinds are
    not found.

    Raises:
        Conflict: naming the uid.
    """
    may_create = call.resource.strategy.allow_create_on_update
    if has_feature("AbsentObjectsAreNotFound") and not may_create:
        return
    if uid := metadata.get("uid"):
        raise _build_uid_conflict(call, uid, "")


def _build_uid_conflict(call: Call, wanted: str, found: str) -> Conflict:
    key = "/".join(part for part in _build_registry_key(call) if part)
    root = "" if "dryRun=" in call.request.query else "/registry"  # a dry run does not get there
    return build_conflict(
        call,
        f"StorageError: invalid object, Code: 4, Key: {root}/{key}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object"
        f" meta: {found}",
    )


def check_resource_version(version: str) -> None:
    """Refuse a text that is not a resource version.

    Raises:
        ApiError: 500, as in Kubernetes.
    """
    problem, digits = "", version.lstrip("0")
    if not (version.isascii() and version.isdigit()):
        problem = "invalid syntax"
    elif len(digits) > _MAX_DIGITS or int(digits or "0") > _LARGEST_VERSION:
        problem = "value out of range"
    if problem:
        raise ApiError(f"strconv.ParseUint: parsing {quote(version)}: {problem}", code=500)


def _build_registry_key(call: Call) -> tuple[str, ...]:
    """Return the parts of Kubernetes' etcd key; those of most built-in kinds have no group."""
    gvr, path = call.resource.gvr, call.path
    if call.resource.is_custom or gvr.group in _STORED_BY_GROUP:
        return (gvr.group, gvr.resource, path.namespace, path.name)
    return (_STORED_NAMES.get(gvr.resource, gvr.resource), path.namespace, path.name)


def _keep_metadata(metadata: Object, before: Object) -> None:
    """Restore the immutable members of the metadata."""
    for name in _KEPT_METADATA:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)
    metadata.pop("selfLink", None)
    # once set they stay; a client that sets them itself is refused by validation
    if before.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if metadata.get("deletionGracePeriodSeconds") is None:
        metadata.pop("deletionGracePeriodSeconds", None)
        if "deletionGracePeriodSeconds" in before:
            metadata["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]


def _validate_changed(call: Call, value: Object, old: Object, context: Context) -> None:
    strategy = call.resource.strategy
    problems = validate_changed_metadata(
        call.resource, context.subresource, value["metadata"], old["metadata"]
    )
    errors = [
        *problems,
        *strategy.validate_update(value, old, with_metadata_errors(context, problems)),
    ]
    if errors:
        kind, group = _get_shown_type(call, value)
        raise Invalid.of(kind, call.path.name, errors, group=group)
    for warning in strategy.find_warnings(value, old, context):
        call.warn(warning)


def _get_shown_type(call: Call, value: Object) -> tuple[str, str]:
    """Return the kind and group for errors; a patch may have changed those of a custom object."""
    if not call.resource.is_custom:
        return call.resource.kind, call.resource.error_group
    return str(value.get("kind")), str(value.get("apiVersion")).rpartition("/")[0]


async def _store_changed(
    core: Core, call: Call, entry: Entry, *, value: Object, old: Object, write_options: WriteOptions
) -> WriteResult:
    if is_finished(call.resource, value):
        if not write_options.is_dry_run:
            # watchers see last what was stored, not the change that ended the object
            last = {**old, "metadata": {**old["metadata"]}}
            converted = await core.conversions.convert_to_stored(call.resource, last)
            encode = build_encoder(last, call.resource, stored=converted)
            await core.store.delete(entry.key, encode, expected=entry.revision)
            await delete_endpoints(core, call)
        return WriteResult(value, None, deleted=True, size=len(entry.value))
    if field_managers.differs_in_times_only(value, old) and not _must_migrate(call, entry):
        await wait_until_durable(core, entry)
        return await build_result(core, call, old, entry)
    if write_options.is_dry_run:
        return build_dry_result(call, value, size=len(entry.value))
    converted = None
    if call.resource.converter is not None:
        converted = await core.conversions.convert_to_stored(call.resource, value)
    encode = build_bounded_encoder(core, call, value, converted)
    stored = await core.store.put(entry.key, encode, expected=entry.revision)
    if call.resource.is_completed:
        await wait_for_completion(core, call, stored)
    return await build_result(core, call, value, stored)


def _must_migrate(call: Call, entry: Entry) -> bool:
    """Whether an object is not stored in the current storage version.

    A write without changes then stores it again, by which storage versions are migrated.
    """
    resource = call.resource
    if not resource.stored_api_version or resource.strategy.stored_as_served:
        return False
    return _STORED.decode(entry.value).api_version != resource.stored_api_version
