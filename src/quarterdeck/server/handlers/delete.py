"""DELETE of one object: preconditions, propagation, grace and finalizers."""

from typing import Any

from quarterdeck.meta.field import invalid, not_supported
from quarterdeck.server import write
from quarterdeck.server.admission.chain import Attempt
from quarterdeck.server.core.core import Core
from quarterdeck.server.core.durability import settled
from quarterdeck.server.registry.deletion import begin
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import check_dry_run
from quarterdeck.storage import Entry, RevisionConflict
from quarterdeck.wire.query import DeleteOptions
from quarterdeck.wire.status import BadRequest, Conflict, Invalid

_POLICIES = ("Foreground", "Background", "Orphan")
_ATTEMPTS = 64


async def handle(core: Core, call: Call) -> responses.Answer:
    """Delete an object, or begin to; a Status if it is gone, the object if something keeps it."""
    options = await read_options(core, call)
    removed = await delete(core, call, options)
    if removed.deleted and call.resource.gvr.group_resource != "pods":
        gvr = call.resource.gvr
        details = {"name": call.path.name, "group": gvr.group, "kind": gvr.resource}
        details["uid"] = removed.value["metadata"].get("uid", "")
        shown = {name: text for name, text in details.items() if text}
        return responses.success(call, {"details": shown})
    return responses.served(core, call, removed.value)


async def read_options(core: Core, call: Call) -> DeleteOptions:
    """The options of a deletion, from the body or else from the query.

    Raises:
        BadRequest, Invalid: naming the option.
    """
    options = DeleteOptions.parse(call.request.query)
    body = await decoder.read_body(call, core.options.max_body_bytes)
    if body:
        document = _read_document(call, body)
        if not isinstance(document, dict):
            raise BadRequest("DeleteOptions must be an object")
        options = DeleteOptions.from_body({"dryRun": options.dry_run} | document)
    errors = check_dry_run(options.dry_run)
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if errors:
        raise Invalid.of("DeleteOptions", "", errors, group="meta.k8s.io")
    return options


def _read_document(call: Call, body: bytes) -> Any:
    return decoder.decode_document(body, decoder.content_type(call))


async def delete(core: Core, call: Call, options: DeleteOptions) -> write.Written:
    """Delete the object a call names.

    Raises:
        ApiError: if it is not there, a precondition fails or somebody vetoes.
    """
    for _ in range(_ATTEMPTS):
        entry = write.present(core, call)
        old = responses.decode_stored(call.resource, entry.value)
        check_preconditions(call, options, old["metadata"])
        attempt = Attempt(
            verb="delete",
            resource=call.resource,
            namespace=call.path.namespace,
            name=call.path.name,
            user=call.user,
            old=old,
            is_dry_run=bool(options.dry_run),
            warnings=call.warnings,
        )
        core.admission.admit(attempt)
        core.admission.validate(attempt)
        if core.admission.waits:
            await core.admission.admit_waiting(attempt)
            await core.admission.validate_waiting(attempt)
        try:
            return await _decide(core, call, options, entry=entry, old=old)
        except RevisionConflict:
            continue
    raise write.conflict(call, write.MODIFIED)


def check_preconditions(call: Call, options: DeleteOptions, metadata: Object) -> None:
    """Compare uid and version with what the client means to delete.

    Raises:
        Conflict: naming both.
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
        gvr = call.resource.gvr
        raise Conflict.of(call.resource.kind, call.path.name, why, group=gvr.group)


async def _decide(
    core: Core, call: Call, options: DeleteOptions, *, entry: Entry, old: Object
) -> write.Written:
    context = core.context(call.user.name, call.path.namespace)
    value = responses.decode_stored(call.resource, entry.value)
    is_kept, is_changed = begin(call.resource, value, options, context=context)
    if not is_kept:
        if not options.dry_run:
            encode = write.encoder(call, value)
            await core.store.delete(entry.key, encode, expected=entry.revision)
            value["metadata"]["resourceVersion"] = old["metadata"].get("resourceVersion")
        return write.Written(value, None, deleted=True)
    if is_changed and not options.dry_run:
        encode = write.encoder(call, value)
        await core.store.put(entry.key, encode, expected=entry.revision)
    else:
        await settled(core, entry)
    return write.Written(value, None)
