"""Deletion of an object: preconditions, admission, grace period and finalizers."""

import msgspec

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.core import Core
from quarterdeck.server.core.durability import wait_until_durable
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.deletion import begin_deletion
from quarterdeck.server.registry.resource import Context, Object, Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.write.result import MODIFIED, WriteResult, build_conflict, get_current
from quarterdeck.server.write.service_endpoints import delete_endpoints
from quarterdeck.storage import Entry, RevisionConflict
from quarterdeck.wire.query import DeleteOptions
from quarterdeck.wire.status import Conflict

_ATTEMPTS = 64
_PODS = "pods"


async def delete(
    core: Core, call: Call, options: DeleteOptions, *, is_admitted: bool = False
) -> WriteResult:
    """Delete the object of a call; `is_admitted` is set for evictions, which were admitted before.

    Raises:
        ApiError: if it does not exist, a precondition fails or admission refuses it.
    """
    for _ in range(_ATTEMPTS):
        entry = get_current(core, call)
        old = await core.worker.decode(call.resource, entry)
        check_preconditions(call, options, old["metadata"])
        shown = None if is_admitted else _build_admission_options(call.resource, options, old)
        if shown is not None:
            attributes = await _admit(core, call, shown, old)
            core.admission.charge(attributes)
        try:
            return await _begin_or_delete(core, call, options, entry=entry, old=old, shown=shown)
        except RevisionConflict:
            continue
    raise build_conflict(call, MODIFIED)


def _build_admission_options(
    resource: Resource, options: DeleteOptions, old: Object
) -> DeleteOptions | None:
    """Return the options for admission, with the computed grace period of a pod.

    None if admission is not called: for a terminating pod whose grace period does not get shorter.
    """
    if resource.stored_name != _PODS:
        return options
    metadata, asked = old["metadata"], options.grace_period_seconds
    if not metadata.get("deletionTimestamp"):
        grace = resource.strategy.compute_grace_period(old, asked)
        return msgspec.structs.replace(options, grace_period_seconds=grace)
    present = metadata.get("deletionGracePeriodSeconds")
    is_pending = present is not None and (asked is None or asked >= present)
    return None if is_pending else options


async def _admit(
    core: Core, call: Call, options: DeleteOptions, old: Object
) -> AdmissionAttributes:
    """Run mutating and then validating admission for a deletion."""
    attributes = AdmissionAttributes(
        verb="delete",
        resource=call.resource,
        namespace=call.path.namespace,
        name="" if call.verb == "deletecollection" else call.path.name,
        user=call.user,
        old=old,
        options=options,
        is_dry_run=bool(options.dry_run),
        warnings=[],
        audit_annotations=call.audit_annotations,
    )
    try:
        if (pending := core.admission.admit_all(attributes)) is not None:
            await pending
        if (pending := core.admission.validate_all(attributes)) is not None:
            await pending
    finally:  # admission runs twice for a pod that is deleted at once: send each warning once
        call.warnings.extend(each for each in attributes.warnings if each not in call.warnings)
    return attributes


def check_preconditions(call: Call, options: DeleteOptions, metadata: Object) -> None:
    """Check the uid and resourceVersion in the preconditions of a deletion.

    Raises:
        Conflict: naming the expected and the actual value.
    """
    wanted = options.preconditions
    if wanted is None:
        return
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    why = ""
    if wanted.uid is not None and wanted.uid != uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({uid})."
            " The object might have been deleted and then recreated"
        )
    elif wanted.resource_version is not None and wanted.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match"
            f" the ResourceVersion in record ({version}). The object might have been modified"
        )
    if why:
        group = call.resource.error_group
        raise Conflict.of(call.resource.kind, call.path.name, why, group=group)


async def _begin_or_delete(
    core: Core,
    call: Call,
    options: DeleteOptions,
    *,
    entry: Entry,
    old: Object,
    shown: DeleteOptions | None,
) -> WriteResult:
    """Mark an object as deleted or remove it; `shown` are the options for admission, if called."""
    context = core.build_context(call.user.name, call.path.namespace)
    value = await core.worker.decode(call.resource, entry)
    is_kept, is_changed = begin_deletion(call.resource, value, options, context=context)
    if not is_kept:
        _mark_pod(call.resource, value, context)
        if shown is not None and call.resource.stored_name == _PODS:
            await _admit(core, call, shown, value)  # Kubernetes marks a pod, then deletes it
        if not options.dry_run:
            await _remove(core, call, entry, value=value, old=old)
            await delete_endpoints(core, call)
        return WriteResult(value, None, deleted=True, size=len(entry.value))
    if is_changed and not options.dry_run:
        stored = await core.conversions.convert_to_stored(call.resource, value)
        encode = build_encoder(value, call.resource, stored=stored)
        await core.store.put(entry.key, encode, expected=entry.revision)
    else:
        await wait_until_durable(core, entry)
    return WriteResult(value, None, size=len(entry.value))


async def _remove(core: Core, call: Call, entry: Entry, *, value: Object, old: Object) -> None:
    """Remove an object; a pod is first stored as terminating, so that watchers see this state."""
    is_marked = call.resource.stored_name == _PODS and value["metadata"] != old["metadata"]
    stored = await core.conversions.convert_to_stored(call.resource, value)
    encode = build_encoder(value, call.resource, stored=stored)
    revision = entry.revision
    with core.store.transaction():
        if is_marked:
            revision = core.store.put(entry.key, encode, expected=revision).revision
        removal = core.store.delete(entry.key, encode, expected=revision)
    await removal


def _mark_pod(resource: Resource, value: Object, context: Context) -> None:
    """Mark a pod that is deleted at once as terminating with a grace period of 0."""
    metadata = value["metadata"]
    if resource.stored_name == _PODS and not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = format_time(context.now)
        metadata["deletionGracePeriodSeconds"] = 0
