"""The `scale` subresource: the replica number of an object as an `autoscaling/v1 Scale`."""

from collections.abc import Sequence

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import FieldError
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import patch as patching
from quarterdeck.server.handlers.patch_forms import read_patch
from quarterdeck.server.handlers.scale_conversion import (
    SCALE_KIND,
    AppliedScale,
    ScaleView,
    apply_scale,
    decode_patched,
    decode_sent,
    to_patched_scale,
    to_scale,
)
from quarterdeck.server.kinds.fields import get_field
from quarterdeck.server.read.resource_version import wait_for_version
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import SCALE, Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.request.object_key import check_name, fill_name
from quarterdeck.server.response import responses
from quarterdeck.server.response.forms import build_partial
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.server.write.result import WriteOptions
from quarterdeck.wire.media import APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from quarterdeck.wire.query import GetOptions, PatchOptions, UpdateOptions
from quarterdeck.wire.status import ApiError, BadRequest, Conflict, Details, InternalError, NotFound

_COLUMNS = (
    build_column("Name", text=NAME.description),
    build_column("Desired", "integer", text="Number of desired replicas"),
    build_column("Available", "integer", text="Number of actual replicas"),
    AGE,
)
_CUSTOM_COLUMNS = (NAME, *_COLUMNS[1:3], build_column("Age", "date", text=AGE.description))
_NO_CONVERSION = "request to convert CR to an invalid group/version: autoscaling/v1"
"""The error of Kubernetes for a custom object's Scale changed by server-side apply."""
_NO_MANAGERS = (
    "failed to create manager for existing fields: failed to convert live object (/;"
    f" autoscaling/v1, Kind=Scale) to proper version: {_NO_CONVERSION}"
)
"""The error of Kubernetes for the first apply of a custom object's scale."""


_SCALE_NOT_FOUND = frozenset({"deployments", "replicasets", "replicationcontrollers"})
"""Resources for which Kubernetes answers every error of reading a scale with `not found`."""


_ABSENT_REPLICAS = -(2**31)
"""Stands for an absent replica count while a patch is applied; the patch must replace it."""


def _parse_options(
    call: Call,
    options: UpdateOptions | PatchOptions,
    kind: str,
    *,
    problems: Sequence[FieldError] = (),
) -> WriteOptions:
    parsed = parse_write_options(call, options, kind, subresource=SCALE, problems=problems)
    return msgspec.structs.replace(parsed, view=ScaleView(call))


async def get(core: Core, call: Call) -> responses.Response:
    """Return the scale of an object."""
    options = GetOptions.parse(call.request.query)
    try:
        if options.resource_version:
            await wait_for_version(core, options.resource_version)
        entry = core.store.get(call.key)
        if entry is None:
            raise write.build_not_found(call)
    except ApiError as error:
        raise _build_read_error(call, error) from error
    value = await core.worker.decode(call.resource, entry)
    return _answer(core, call, to_scale(call, value))


def _build_read_error(call: Call, error: ApiError) -> ApiError:
    """Build the error of a scale that cannot be read; see `_SCALE_NOT_FOUND`."""
    gvr = call.resource.gvr
    if call.resource.is_custom or gvr.resource not in _SCALE_NOT_FOUND:
        return error
    group = gvr.group or SCALE_KIND.group
    return NotFound.of(f"{gvr.resource}/scale", call.path.name, group=group)


async def update(core: Core, call: Call) -> responses.Response:
    """PUT of a scale."""
    options = UpdateOptions.parse(call.request.query)
    write_options = _parse_options(call, options, "UpdateOptions")
    body = await decoder.read_body(call, core.options.max_body_bytes)
    media = decoder.get_content_type(call)
    validation = parse_field_validation(options)
    scale = await core.worker.run(
        len(body),
        lambda: decode_sent(call, decoder.decode_document(body, media), validation),
    )
    check_name(call, scale["metadata"])
    written = await write.update(
        core, call, lambda old: apply_scale(call, old, scale), write_options
    )
    return _answer(core, call, to_scale(call, written.value))


async def patch(core: Core, call: Call) -> responses.Response:
    """PATCH of a scale."""
    options = PatchOptions.parse(call.request.query)
    media = decoder.get_content_type(call)
    patching.check_media_type(call, media)
    if media == APPLY_PATCH:
        return await _apply(core, call, options)
    problems = patching.check_not_forced(options)
    write_options = _parse_options(call, options, "PatchOptions", problems=problems)
    body = await decoder.read_body(call, core.options.max_body_bytes)
    # a Scale has no lists, so the two kinds of merges differ in what they say of errors only
    form = MERGE_PATCH if media == STRATEGIC_MERGE_PATCH else media
    validation = parse_field_validation(options)

    def change(old: Object) -> Object:
        apply = read_patch(core, call, body, form, validation=validation)
        patched = apply(to_patched_scale(call, old, absent=_ABSENT_REPLICAS))
        strategic = kit_json.decode(body) if media == STRATEGIC_MERGE_PATCH else None
        scale = decode_patched(call, patched, validation, strategic=strategic)
        is_absent = get_field(scale, "spec", "replicas") == _ABSENT_REPLICAS
        if is_absent and call.resource.is_custom:
            raise _build_absent_error(call, old)
        return apply_scale(call, old, scale)

    written = await write.update(core, call, change, write_options)
    return _answer(core, call, to_scale(call, written.value))


async def _apply(core: Core, call: Call, options: PatchOptions) -> responses.Response:
    """Server-side apply of a Scale: its manager owns the replica number of the object."""
    from quarterdeck.server.handlers import apply

    problems = apply.check_field_manager(options)
    write_options = _parse_options(call, options, "PatchOptions", problems=problems)
    body = await decoder.read_body(call, core.options.max_body_bytes)
    read = await core.worker.run(len(body), lambda: apply.read_configuration(body))
    apply.check_applied_type(read.value, SCALE_KIND)
    applied = AppliedScale(read.value)

    def merge(live: Object) -> Object:
        if call.resource.is_custom and not field_managers.has_replica_owner(call.resource, live):
            raise ApiError(_NO_MANAGERS, code=500)
        applied.check()
        config = _build_configuration(call, applied)
        try:
            merged = field_managers.apply_configuration(
                core, call, config, live, manager=write_options.manager, force=bool(options.force)
            )
        except Conflict as error:
            raise _show_scale_version(call, error) from error
        if call.resource.is_custom and _get_replicas(call, merged) != _get_replicas(call, live):
            raise applied.build_conversion_error(_NO_CONVERSION)
        scale = applied.decode()
        fill_name(call, scale["metadata"])  # merged into the live Scale, which has one
        wanted = apply_scale(call, live, scale)
        for name in ("resourceVersion", "uid"):
            merged["metadata"][name] = wanted["metadata"][name]
        if not call.resource.is_custom and get_field(merged, "spec", "replicas") is None:
            call.resource.strategy.write_scale(merged, 0)  # which a Scale leaves out
        return merged

    written = await write.update(core, call, merge, write_options, track=False)
    return _answer(core, call, to_scale(call, written.value))


def _build_configuration(call: Call, applied: AppliedScale) -> Object:
    """Build the apply configuration of the object from an applied Scale."""
    config: Object = {
        "apiVersion": call.resource.api_version,
        "kind": call.resource.kind,
        "metadata": {"name": call.path.name},
    }
    if (replicas := applied.get_replicas()) is not None:
        call.resource.strategy.write_scale(config, replicas)
    return config


def _get_replicas(call: Call, value: Object) -> object:
    return to_patched_scale(call, value)["spec"].get("replicas")


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
    columns = _CUSTOM_COLUMNS if call.resource.is_custom else _COLUMNS
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
        "columnDefinitions": [msgspec.to_builtins(each) for each in columns],
        "rows": [{"cells": cells, "object": build_partial(scale, call.choice.version)}],
    }


def _build_absent_error(call: Call, value: Object) -> BadRequest:
    """Build the error of a patch that leaves an object without a replica number."""
    try:
        to_scale(call, value)
    except InternalError as error:
        field = error.message.partition(": ")[2].removesuffix(" does not exist")
        return BadRequest(f"{field} cannot be empty")
    return BadRequest("the spec replicas field cannot be the smallest number")


def _show_scale_version(call: Call, error: Conflict) -> Conflict:
    """Replace the version of the object in a conflict by the version of the Scale."""
    old, new = f"using {call.resource.api_version}", f"using {SCALE_KIND.api_version}"
    details = error.details or Details()
    causes = tuple(
        msgspec.structs.replace(each, message=each.message.replace(old, new))
        for each in details.causes
    )
    return Conflict(
        error.message.replace(old, new), details=msgspec.structs.replace(details, causes=causes)
    )
