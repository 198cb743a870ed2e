"""The `scale` subresource: the replica number of an object as an `autoscaling/v1 Scale`."""

from collections.abc import Sequence

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.meta import builtins
from quarterdeck.meta.field import FieldError, get_go_type, invalid
from quarterdeck.meta.identity import GVK
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import patch as patching
from quarterdeck.server.kinds.fields import get_field
from quarterdeck.server.read.resource_version import wait_for_version
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import SCALE, Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.request.object_key import check_name, fill_name
from quarterdeck.server.request.type_meta import check_builtin_type, explain_non_object, name_scheme
from quarterdeck.server.response import responses
from quarterdeck.server.response.forms import build_partial
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.server.write.result import WriteOptions
from quarterdeck.wire.media import APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from quarterdeck.wire.query import GetOptions, PatchOptions, UpdateOptions
from quarterdeck.wire.status import (
    ApiError,
    BadRequest,
    Conflict,
    Details,
    InternalError,
    Invalid,
    NotFound,
)

SCALE_KIND = GVK("autoscaling", "v1", "Scale")
_COLUMNS = (
    build_column("Name", text=NAME.description),
    build_column("Desired", "integer", text="Number of desired replicas"),
    build_column("Available", "integer", text="Number of actual replicas"),
    AGE,
)
_CUSTOM_COLUMNS = (NAME, *_COLUMNS[1:3], build_column("Age", "date", text=AGE.description))
_NO_MANAGERS = (
    "failed to create manager for existing fields: failed to convert live object (/;"
    " autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid"
    " group/version: autoscaling/v1"
)
"""What Kubernetes says of the first apply of a custom object's scale."""


_SCALE_NOT_FOUND = frozenset({"deployments", "replicasets", "replicationcontrollers"})
"""Kinds of Kubernetes that say `not found` of a scale whatever went wrong."""


_ABSENT_REPLICAS = -(2**31)
"""What a patch sees of a replica number that is absent; it must replace it."""


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
        return _apply_scale(self._call, value, _decode_scale(self._call, shown, "Ignore"))


def _parse_options(
    call: Call,
    options: UpdateOptions | PatchOptions,
    kind: str,
    *,
    problems: Sequence[FieldError] = (),
) -> WriteOptions:
    parsed = parse_write_options(call, options, kind, subresource=SCALE, problems=problems)
    return parsed._replace(view=ScaleView(call))


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
    """Build the error of a scale that cannot be read; some kinds call each `not found`."""
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
        lambda: _decode_sent(call, decoder.decode_document(body, media), validation),
    )
    check_name(call, scale["metadata"])
    written = await write.update(
        core, call, lambda old: _apply_scale(call, old, scale), write_options
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
    if media == STRATEGIC_MERGE_PATCH:
        media = MERGE_PATCH  # a Scale has no lists, so the two are the same
    validation = parse_field_validation(options)

    def change(old: Object) -> Object:
        apply = patching.read_patch(core, call, body, media, validation=validation)
        patched = apply(_to_patched_scale(call, old, absent=_ABSENT_REPLICAS))
        scale = _decode_patched(call, patched, validation)
        if get_field(scale, "spec", "replicas") == _ABSENT_REPLICAS:
            raise _build_absent_error(call, old)
        return _apply_scale(call, old, scale)

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
    scale = _check_applied_scale(call, read.value)

    def merge(live: Object) -> Object:
        if call.resource.is_custom and not field_managers.has_replica_owner(call.resource, live):
            raise ApiError(_NO_MANAGERS, code=500)
        fill_name(call, scale["metadata"])  # merged into the live Scale, which has one
        wanted = _apply_scale(call, live, scale)
        config: Object = {
            "apiVersion": call.resource.api_version,
            "kind": call.resource.kind,
            "metadata": {"name": call.path.name},
        }
        if (scale.get("spec") or {}).get("replicas") is not None:
            call.resource.strategy.write_scale(config, scale["spec"]["replicas"])
        try:
            merged = field_managers.apply_configuration(
                core, call, config, live, manager=write_options.manager, force=bool(options.force)
            )
        except Conflict as error:
            raise _show_scale_version(call, error) from error
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


def _to_patched_scale(call: Call, value: Object, *, absent: int = 0) -> Object:
    """The Scale that a patch changes; `absent` stands for a replica number that is not there."""
    try:
        return to_scale(call, value)
    except InternalError:
        filled = patching.copy_object(value)
        call.resource.strategy.write_scale(filled, absent)
        return to_scale(call, filled)


def _build_absent_error(call: Call, value: Object) -> BadRequest:
    """Build the error of a patch that leaves an object without a replica number."""
    try:
        to_scale(call, value)
    except InternalError as error:
        field = error.message.partition(": ")[2].removesuffix(" does not exist")
        return BadRequest(f"{field} cannot be empty")
    return BadRequest("the spec replicas field cannot be the smallest number")


def _decode_scale(call: Call, document: object, validation: str) -> Object:
    """A body as a Scale.

    Raises:
        BadRequest: in Kubernetes' words, for another kind, wrong types, and unknown fields where
            these are refused.
    """
    if not isinstance(document, dict):
        raise BadRequest(f"couldn't get version/kind; {explain_non_object(document)}")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    check_builtin_type(
        str(kind or SCALE_KIND.kind), str(api_version or SCALE_KIND.api_version), SCALE_KIND
    )
    decoded = builtins.decode(document, SCALE_KIND)
    problem = decoded.error
    unknown = [
        f'unknown field "{each}"' for each in builtins.find_unknown_fields(document, SCALE_KIND)
    ]
    if problem is None and unknown and validation == "Strict":
        problem = f"strict decoding error: {', '.join(unknown)}"
    if problem is not None:
        raise BadRequest(f'Scale in version "v1" cannot be handled as a Scale: {problem}')
    if validation == "Warn":
        for each in unknown:
            call.warn(each)
    return {"metadata": {}, **decoded.object}


def _decode_sent(call: Call, document: object, validation: str) -> Object:
    """A Scale that is put; Kubernetes cannot say what is wrong with that of a custom object.

    Raises:
        BadRequest: if it is none.
    """
    try:
        return _decode_scale(call, document, validation)
    except BadRequest as error:
        if not call.resource.is_custom or "strict decoding error" in error.message:
            raise
        raise BadRequest(
            f'no kind is registered for the type v1.Scale in scheme "{name_scheme()}"'
        ) from error


def _decode_patched(call: Call, patched: Object, validation: str) -> Object:
    """A patched Scale.

    Raises:
        Invalid: showing the Scale that the patch made.
    """
    try:
        scale = _decode_scale(call, patched, validation)
    except BadRequest as error:
        why = error.message.rpartition("cannot be handled as a Scale: ")[2]
        problem = invalid("patch", kit_json.encode(patched).decode(), why)
        raise Invalid.of("", "", [problem]) from error
    check_name(call, scale["metadata"])
    return scale


def _check_applied_scale(call: Call, config: Object) -> Object:
    """An applied Scale.

    Raises:
        ApiError: 500 if it does not fit its type, as Kubernetes answers it.
    """
    decoded = builtins.decode(config, SCALE_KIND)
    spec = config.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    if decoded.error is None:
        return {"metadata": {}, **decoded.object}
    where = f"(/{call.path.name}; {SCALE_KIND.api_version}, Kind={SCALE_KIND.kind})"
    if isinstance(replicas, int | None) and not isinstance(replicas, bool):
        raise ApiError(
            f"failed to convert new object {where} to proper version: {decoded.error}", code=500
        )
    raise ApiError(
        f"failed to create typed patch object {where}: .spec.replicas: expected numeric (int or"
        f" float), got {get_go_type(replicas)}",
        code=500,
    )


def _show_scale_version(call: Call, error: Conflict) -> Conflict:
    """The conflict with managers named by the version of the Scale that they see."""
    old, new = f"using {call.resource.api_version}", f"using {SCALE_KIND.api_version}"
    details = error.details or Details()
    causes = tuple(
        msgspec.structs.replace(each, message=each.message.replace(old, new))
        for each in details.causes
    )
    return Conflict(
        error.message.replace(old, new), details=msgspec.structs.replace(details, causes=causes)
    )


def _apply_scale(call: Call, old: Object, scale: Object) -> Object:
    """The object with the replica number of a Scale; `old` is only read."""
    metadata, replicas = scale["metadata"], (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0 and not call.resource.is_custom:
        problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid.of("Scale", call.path.name, [problem], group=SCALE_KIND.group)
    value = patching.copy_object(old)
    for name in ("resourceVersion", "uid"):
        if metadata.get(name):
            value["metadata"][name] = metadata[name]
    call.resource.strategy.write_scale(value, replicas)
    return value
