"""POST of a Binding: assigns a pod to a node, as schedulers do."""

import functools

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.field import FieldError, not_supported, required
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.kinds.catalog import find_rules
from quarterdeck.server.kinds.strategy import BuiltinStrategy
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_namespace, check_posted_name
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.server.write.subresource_admission import PostedAdmission
from quarterdeck.storage import RevisionConflict
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import ApiError, BadRequest, Conflict

BINDING = "binding"
KIND = GVK("", "v1", "Binding")
_PODS = GVR("", "v1", "pods")
_ATTEMPTS = 64


async def handle(core: Core, call: Call) -> responses.Response:
    """Assign the pod to the node of the Binding; answers 201 with a Status."""
    options = CreateOptions.parse(call.request.query)
    write_options = parse_write_options(call, options, "CreateOptions", subresource=BINDING)
    validation = parse_field_validation(options)
    asked = msgspec.structs.replace(call, resource=_build_resource())
    body = await decoder.read_body(call, core.options.max_body_bytes)
    value = await core.worker.run(
        len(body), lambda: decoder.decode_object(asked, body, KIND, validation)
    )
    admitted = call
    if not call.path.name:
        call = _name_pod(core, call, value["metadata"].get("name") or "")
        # admission sees what it was posted to
        admitted = msgspec.structs.replace(call, resource=_build_resource())
        write_options = msgspec.structs.replace(write_options, subresource="")
    check_namespace(call, value["metadata"])
    admission = PostedAdmission(core, admitted, write_options, kind=KIND)
    value = await admission.admit(value)
    check_posted_name(call, value["metadata"], KIND.kind)
    if errors := [str(each) for each in _validate(value)]:
        # not as an Invalid: Kubernetes sends the errors as they are
        raise ApiError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]", code=500)
    await admission.validate(value)
    await _assign(core, call, value, is_dry_run=write_options.is_dry_run)
    document = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return responses.build_document(core, call, kit_json.encode({**document, "code": 201}), 201)


def _name_pod(core: Core, call: Call, name: str) -> Call:
    """Return the call for the pod that a Binding names, if it was posted to `bindings`.

    Raises:
        BadRequest: if the Binding has no name.
    """
    if not name:
        raise BadRequest("Name parameter required.")
    pods = core.registry.get(_PODS)
    assert pods is not None  # a built-in resource
    return msgspec.structs.replace(call, path=call.path._replace(name=name), resource=pods)


async def _assign(core: Core, call: Call, binding: Object, *, is_dry_run: bool) -> None:
    for _ in range(_ATTEMPTS):
        entry = write.get_current(core, call)
        pod = await core.worker.decode(call.resource, entry)
        if problem := _find_problem(pod, binding):
            raise Conflict.of("pods/binding", call.path.name, problem)
        _set_node(pod, binding, now=format_time(core.clock.now()))
        if is_dry_run:
            return
        try:
            ticket = core.store.put(
                entry.key, build_encoder(pod, call.resource), expected=entry.revision
            )
        except RevisionConflict:
            continue
        await ticket
        return
    raise write.build_conflict(call, write.MODIFIED)


def _validate(binding: Object) -> list[FieldError]:
    target = binding.get("target") or {}
    errors = []
    if target.get("kind") and target["kind"] != "Node":
        errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(required("target.name"))
    return errors


def _find_problem(pod: Object, binding: Object) -> str:
    """Return why a pod cannot be assigned; empty if it can."""
    metadata, spec, wanted = pod["metadata"], pod.get("spec") or {}, binding["metadata"]
    name = metadata["name"]
    for member in ("uid", "resourceVersion"):
        if wanted.get(member) and wanted[member] != metadata.get(member):
            return f"Precondition failed: {member} is {metadata.get(member)}"
    if metadata.get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _set_node(pod: Object, binding: Object, *, now: str) -> None:
    pod.setdefault("spec", {})["nodeName"] = binding["target"]["name"]
    if annotations := binding["metadata"].get("annotations"):
        known = pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**known, **annotations}
    status = pod.setdefault("status", {})
    others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    status["conditions"] = [*others, scheduled]


@functools.cache
def _build_resource() -> Resource:
    return Resource(
        gvr=GVR("", "v1", "bindings"),
        kind=KIND.kind,
        list_kind="BindingList",
        singular="binding",
        namespaced=True,
        strategy=BuiltinStrategy(KIND, find_rules(KIND), has_status=False),
        verbs=("create",),
    )
