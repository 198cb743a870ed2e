"""DELETE of one object: preconditions, propagation, grace and finalizers."""

import msgspec

from quarterdeck.meta.field import FieldError, invalid, not_supported, quote
from quarterdeck.meta.release import has_feature
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.type_meta import explain_non_object, name_scheme
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import check_dry_run
from quarterdeck.wire.query import DeleteOptions
from quarterdeck.wire.status import ApiError, BadRequest, Invalid

_RETURNED = frozenset(
    {
        *("namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates"),
        *("resourcequotas", "serviceaccounts", "services"),
        *("csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "storageclasses.storage.k8s.io"),
        *("volumeattachments.storage.k8s.io", "volumeattributesclasses.storage.k8s.io"),
        *("deviceclasses.resource.k8s.io", "devicetaintrules.resource.k8s.io"),
        *("resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"),
        "resourceslices.resource.k8s.io",
    }
)
"""Resources for which the response has the deleted object; for others it is a Status."""
_JOBS = "jobs.batch"
_ORPHANING = frozenset({_JOBS, "replicationcontrollers"})
"""Resources whose dependents are orphaned by default."""
_KIND = "DeleteOptions"
_POLICIES = ("Foreground", "Background", "Orphan")


async def handle(core: Core, call: Call) -> responses.Response:
    """Delete an object; answers with a Status, or with the object while finalizers keep it."""
    options = await read_options(core, call)
    removed = await write.delete(core, call, options)
    if removed.deleted and call.resource.gvr.group_resource not in _RETURNED:
        gvr = call.resource.gvr
        details = {"name": call.path.name, "group": gvr.group, "kind": gvr.resource}
        details["uid"] = removed.value["metadata"].get("uid", "")
        shown = {name: text for name, text in details.items() if text}
        return responses.build_success(call, {"details": shown})
    return await core.worker.run(
        responses.estimate_cost(call, removed.size),
        lambda: responses.build_object(core, call, removed.value),
    )


async def read_options(core: Core, call: Call) -> DeleteOptions:
    """Read DeleteOptions from the body, or from the query if the body is empty.

    Raises:
        BadRequest, Invalid: naming the option.
    """
    body = await decoder.read_body(call, core.options.max_body_bytes)
    query = call.request.query
    if body:
        options = await core.worker.run(len(body), lambda: _read_body_options(call, body))
    else:
        options = DeleteOptions.parse(query)
    errors: list[FieldError] = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += check_dry_run(options.dry_run)
    if errors:
        raise Invalid.of("DeleteOptions", "", errors, group="meta.k8s.io")
    return _with_default_policy(call, options)


def _with_default_policy(call: Call, options: DeleteOptions) -> DeleteOptions:
    """Set the policy Orphan for resources in `_ORPHANING`, unless the client set a policy."""
    name = call.resource.gvr.group_resource
    if name not in _ORPHANING or options.orphan_dependents is not None:
        return options
    if options.propagation_policy is not None:
        return options
    if name == _JOBS:
        call.warn(
            "child pods are preserved by default when jobs are deleted; set"
            " propagationPolicy=Background to remove them or set propagationPolicy=Orphan to"
            " suppress this warning"
        )
    return msgspec.structs.replace(options, propagation_policy="Orphan")


def _read_body_options(call: Call, body: bytes) -> DeleteOptions:
    """Read DeleteOptions from a body; up to 1.32 a decoding error is a 500 without reason.

    Raises:
        ApiError: naming the member or the kind.
    """
    try:
        document = decoder.decode_document(body, decoder.get_content_type(call))
    except BadRequest as error:
        raise _refuse(f"couldn't get version/kind; {error.message}") from error
    if not isinstance(document, dict):
        problem = explain_non_object(document)
        raise _refuse(f"couldn't get version/kind; json parse error: {problem}")
    kind = document.get("kind") or _KIND
    if kind != _KIND:
        version = document.get("apiVersion") or "meta.k8s.io/v1"
        raise _refuse(
            f"no kind {quote(str(kind))} is registered for version {quote(str(version))} in scheme"
            f" {quote(name_scheme())}"
        )
    try:
        return DeleteOptions.from_body(document)
    except BadRequest as error:
        raise _refuse(error.message) from error


def _refuse(message: str) -> ApiError:
    return (
        BadRequest(message)
        if has_feature("DeleteOptionsAreBadRequests")
        else ApiError(message, code=500)
    )
