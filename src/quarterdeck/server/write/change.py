"""Changes of objects: from what is there to what shall be, decided against the newest state."""

from quarterdeck.meta.field import Bare, invalid
from quarterdeck.server.core import Core
from quarterdeck.server.core.durability import settled
from quarterdeck.server.registry import metadata_validation as rules
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.deletion import is_finished
from quarterdeck.server.registry.resource import Context, Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.result import (
    MODIFIED,
    Change,
    Intent,
    Written,
    attempt_of,
    completed,
    conflict,
    encoder,
    finalizer_errors,
    present,
    told,
    written,
)
from quarterdeck.storage import Entry, RevisionConflict
from quarterdeck.wire.status import Invalid

_ATTEMPTS = 64
_KEPT_METADATA = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
)


async def update(
    core: Core, call: Call, change: Change, intent: Intent, *, track: bool = True
) -> Written:
    """Change a stored object; `change` is asked again where somebody else was faster.

    Raises:
        ApiError: as Kubernetes would; nothing was stored then.
    """
    for _ in range(_ATTEMPTS):
        entry = present(core, call)
        old = decode_stored(call.resource, entry.value)
        value = change(old)
        check_identity(call, value["metadata"], old["metadata"])
        context = core.context(call.user.name, call.path.namespace, intent.subresource)
        call.resource.strategy.default(value)
        _keep_metadata(value["metadata"], old["metadata"])
        if track:
            value = field_managers.track(core, call, value, old, manager=intent.manager)
        attempt = attempt_of(call, "update", intent, value=value, old=old)
        core.admission.admit(attempt)
        if core.admission.waits:
            await core.admission.admit_waiting(attempt)
        call.resource.strategy.prepare_update(value, old, context)
        if call.resource.strategy.bumps_generation(value, old, context):
            value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if core.admission.waits:
            await core.admission.validate_waiting(attempt)
        _validate_changed(call, value, old, context)
        core.admission.validate(attempt)
        try:
            return await _store_changed(core, call, entry, value=value, old=old, intent=intent)
        except RevisionConflict:
            continue
    raise conflict(call, MODIFIED)


def check_identity(call: Call, metadata: Object, old: Object) -> None:
    """Refuse a change of another object than the one that is there.

    Raises:
        Conflict: if uid or resourceVersion are of another time.
        Invalid: if the kind wants a resourceVersion and there is none.
    """
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != old.get("uid") and call.verb == "patch":
        problem = invalid("metadata.uid", uid, "field is immutable")
        raise Invalid.of(
            call.resource.kind, call.path.name, [problem], group=call.resource.gvr.group
        )
    if uid and uid != old.get("uid"):
        key = "/".join(part for part in _registry_key(call) if part)
        raise conflict(
            call,
            f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0,"
            f" AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object"
            f" meta: {old.get('uid')}",
        )
    if version and version != "0":
        if version != old.get("resourceVersion"):
            raise conflict(call, MODIFIED)
    elif not call.resource.strategy.allow_unconditional_update:
        problem = invalid(
            "metadata.resourceVersion", Bare("0x0"), "must be specified for an update"
        )
        gvr = call.resource.gvr
        raise Invalid.of(gvr.resource, call.path.name, [problem], group=gvr.group)


def _registry_key(call: Call) -> tuple[str, ...]:
    gvr = call.resource.gvr
    return (gvr.group, gvr.resource, call.path.namespace, call.path.name)


def _keep_metadata(metadata: Object, before: Object) -> None:
    """Restore what nobody may change."""
    for name in _KEPT_METADATA:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)


def _validate_changed(call: Call, value: Object, old: Object, context: Context) -> None:
    problems = rules.check_changed(value["metadata"], old["metadata"])
    strategy = call.resource.strategy
    # Kubernetes checks the metadata twice on update, and lists what it finds twice
    errors = [
        *problems,
        *problems,
        *finalizer_errors(call, value["metadata"]),
        *strategy.validate_update(value, old, told(context, problems)),
    ]
    if errors:
        raise Invalid.of(call.resource.kind, call.path.name, errors, group=call.resource.gvr.group)
    for warning in rules.finalizer_warnings(value["metadata"]):
        call.warn(warning)
    for warning in strategy.warnings(value, old, context):
        call.warn(warning)


async def _store_changed(
    core: Core, call: Call, entry: Entry, *, value: Object, old: Object, intent: Intent
) -> Written:
    if is_finished(call.resource, value):
        if not intent.is_dry_run:
            version = value["metadata"].get("resourceVersion")
            ticket = core.store.delete(entry.key, encoder(call, value), expected=entry.revision)
            await ticket
            value["metadata"]["resourceVersion"] = version
        return Written(value, None, deleted=True)
    if field_managers.only_times_differ(value, old):
        await settled(core, entry)
        return written(call, old, entry)
    if intent.is_dry_run:
        return Written(value, None)
    ticket = core.store.put(entry.key, encoder(call, value), expected=entry.revision)
    stored = await ticket
    await completed(core, call, stored)
    return written(call, value, stored)
