"""The `scale` subresource: the replica number of an object as an `autoscaling/v1 Scale`."""

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import invalid
from quarterdeck.meta.identity import GVK
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import patch as patching
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import SCALE, Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.request.object_key import check_name
from quarterdeck.server.response import responses
from quarterdeck.server.response.forms import build_partial
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_write_options
from quarterdeck.server.write.result import WriteOptions
from quarterdeck.wire.media import APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from quarterdeck.wire.query import PatchOptions, UpdateOptions
from quarterdeck.wire.status import BadRequest, InternalError, Invalid, NotFound

SCALE_KIND = GVK("autoscaling", "v1", "Scale")
_COLUMNS = (
    NAME,
    build_column("Desired", "integer", text="replicas is the desired number of instances."),
    build_column("Available", "integer", text="replicas is the observed number of instances."),
    AGE,
)


class ScaleView:
    """Objects as webhooks and policies see them when their scale is written."""

    kind = SCALE_KIND

    def __init__(self, call: Call) -> None:
        self._call = call

    def show(self, value: Object) -> Object:
        """The Scale of an object."""
        return _to_patched_scale(self._call, value)

    def restore(self, value: Object, shown: Object) -> Object:
        """The object with the replica number of a Scale."""
        return _apply_scale(self._call, value, shown)


def _parse_options(call: Call, options: UpdateOptions | PatchOptions, kind: str) -> WriteOptions:
    parsed = parse_write_options(call, options, kind, subresource=SCALE)
    return parsed._replace(view=ScaleView(call))


async def get(core: Core, call: Call) -> responses.Response:
    """Return the scale of an object."""
    entry = core.store.get(call.key)
    if entry is None:
        raise write.build_not_found(call)
    value = decode_stored(call.resource, entry.value)
    return _answer(core, call, to_scale(call, value))


async def update(core: Core, call: Call) -> responses.Response:
    """PUT of a scale."""
    options = UpdateOptions.parse(call.request.query)
    write_options = _parse_options(call, options, "UpdateOptions")
    body = await decoder.read_body(call, core.options.max_body_bytes)
    media = decoder.get_content_type(call)
    scale = await core.worker.run(len(body), lambda: decoder.decode_document(body, media))
    written = await write.update(
        core, call, lambda old: _apply_scale(call, old, scale), write_options
    )
    return _answer(core, call, to_scale(call, written.value))


async def patch(core: Core, call: Call) -> responses.Response:
    """PATCH of a scale."""
    options = PatchOptions.parse(call.request.query)
    media = decoder.get_content_type(call)
    if media not in patching.list_media_types(call):
        raise decoder.build_unsupported(*patching.list_media_types(call))
    if media == APPLY_PATCH:
        return await _apply(core, call, options)
    patching.check_not_forced(options)
    write_options = _parse_options(call, options, "PatchOptions")
    body = await decoder.read_body(call, core.options.max_body_bytes)
    if media == STRATEGIC_MERGE_PATCH:
        media = MERGE_PATCH  # a Scale has no lists, so the two are the same
    apply = await core.worker.run(len(body), lambda: patching.read_patch(core, call, body, media))
    written = await write.update(
        core,
        call,
        lambda old: _apply_scale(call, old, apply(_to_patched_scale(call, old))),
        write_options,
    )
    return _answer(core, call, to_scale(call, written.value))


async def _apply(core: Core, call: Call, options: PatchOptions) -> responses.Response:
    """Server-side apply of a Scale: its manager owns the replica number of the object."""
    from quarterdeck.server.handlers import apply

    apply.check_field_manager(options)
    write_options = _parse_options(call, options, "PatchOptions")
    body = await decoder.read_body(call, core.options.max_body_bytes)
    scale = await core.worker.run(len(body), lambda: apply.read_document(body))
    if (scale.get("apiVersion"), scale.get("kind")) != (SCALE_KIND.api_version, SCALE_KIND.kind):
        found = f"{scale.get('apiVersion') or ''}, Kind={scale.get('kind') or ''}"
        raise BadRequest(f"invalid object type: {found}")

    def merge(live: Object) -> Object:
        wanted = _apply_scale(call, live, scale)
        config: Object = {
            "apiVersion": call.resource.api_version,
            "kind": call.resource.kind,
            "metadata": {"name": call.path.name},
        }
        if (scale.get("spec") or {}).get("replicas") is not None:
            call.resource.strategy.write_scale(config, scale["spec"]["replicas"])
        merged = field_managers.apply_configuration(
            core, call, config, live, manager=write_options.manager, force=bool(options.force)
        )
        for name in ("resourceVersion", "uid"):
            merged["metadata"][name] = wanted["metadata"][name]
        return merged

    written = await write.update(core, call, merge, write_options, track=False)
    return _answer(core, call, to_scale(call, written.value))


def _answer(core: Core, call: Call, scale: Object) -> responses.Response:
    """A Scale in the form the client chose."""
    match call.choice.form:
        case Form.OBJECT:
            shown = scale
        case Form.METADATA:
            shown = build_partial(scale, call.choice.version)
        case Form.TABLE:
            shown = _build_table(core, call, scale)
    return responses.build_document(core, call, kit_json.encode(shown))


def _build_table(core: Core, call: Call, scale: Object) -> Object:
    metadata = scale["metadata"]
    cells = (
        metadata["name"],
        scale["spec"].get("replicas", 0),
        scale["status"]["replicas"],
        format_creation_age(scale, core.clock.now()),
    )
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{call.choice.version}",
        "metadata": {"resourceVersion": metadata.get("resourceVersion", "")},
        "columnDefinitions": [msgspec.to_builtins(each) for each in _COLUMNS],
        "rows": [{"cells": cells, "object": build_partial(scale, call.choice.version)}],
    }


def to_scale(call: Call, value: Object) -> Object:
    """The Scale of an object.

    Raises:
        NotFound: if the kind has none.
        ApiError: 500 if the field is absent, as Kubernetes does.
    """
    scale = call.resource.strategy.read_scale(value)
    if scale is None:
        raise NotFound.resource()
    metadata = value["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": scale.status_replicas}
    if scale.selector:
        status["selector"] = scale.selector
    return {
        "kind": SCALE_KIND.kind,
        "apiVersion": SCALE_KIND.api_version,
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": scale.spec_replicas} if scale.spec_replicas else {},
        "status": status,
    }


def _to_patched_scale(call: Call, value: Object) -> Object:
    """The Scale that a patch changes; an object without a replica number gets one by it."""
    try:
        return to_scale(call, value)
    except InternalError:
        filled = patching.copy_object(value)
        call.resource.strategy.write_scale(filled, 0)
        return to_scale(call, filled)


def _apply_scale(call: Call, old: Object, scale: object) -> Object:
    """The object with the replica number of a Scale; `old` is only read."""
    if not isinstance(scale, dict):
        raise BadRequest("the body of a scale must be a Scale object")
    metadata, spec = scale.get("metadata") or {}, scale.get("spec") or {}
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        raise BadRequest("metadata and spec of a Scale must be objects")
    if scale.get("kind") not in (None, "", SCALE_KIND.kind):
        raise BadRequest(f"the body of a scale request must be of kind Scale, not {scale['kind']}")
    check_name(call, metadata)
    replicas = 0 if spec.get("replicas") is None else spec["replicas"]
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise BadRequest("spec.replicas of a Scale must be an integer")
    if replicas < 0:
        problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid.of("Scale", call.path.name, [problem], group=SCALE_KIND.group)
    value = patching.copy_object(old)
    for name in ("resourceVersion", "uid"):
        if metadata.get(name):
            value["metadata"][name] = metadata[name]
    call.resource.strategy.write_scale(value, replicas)
    return value
