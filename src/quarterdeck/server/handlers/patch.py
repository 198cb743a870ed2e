"""PATCH of an object or of its status: JSON patch, merge patch, strategic merge, server-side apply.

Each kind of patch becomes a function from the present object to the new one; `write.update` calls
it again after a concurrent write, so that a patch without a resourceVersion always lands.
"""

from collections.abc import Sequence
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.meta import builtins
from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.meta.identity import GVK
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import create
from quarterdeck.server.handlers.patch_forms import (
    MergePatch,
    Patch,
    StrategicPatch,
    build_rejection,
    read_patch,
)
from quarterdeck.server.handlers.patch_problems import find_patch_problems
from quarterdeck.server.handlers.patched_type import check_patched_type
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_name, check_namespace
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.wire.media import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import BadRequest, Details, Invalid, UnsupportedMediaType


async def handle(core: Core, call: Call) -> responses.Response:
    """Change an object by a patch in any of the four forms."""
    options = PatchOptions.parse(call.request.query)
    media = decoder.get_content_type(call)
    check_media_type(call, media)
    body = await decoder.read_body(call, core.options.max_body_bytes)
    if media == APPLY_PATCH:
        from quarterdeck.server.handlers import apply

        return await apply.handle(core, call, body, options)
    write_options = parse_write_options(
        call,
        options,
        "PatchOptions",
        subresource=call.path.subresource,
        problems=check_not_forced(options),
    )
    validation = parse_field_validation(options)
    patches: list[Patch] = []  # read when the object was found: that comes first

    def change(old: Object) -> Object:
        if not patches:
            patches.append(read_patch(core, call, body, media, validation=validation))
        patch = patches[0]
        patched = patch(copy_object(old))
        problems = find_patch_problems(body, media, validation)
        return shape_patched(call, patched, validation, patch=patch, problems=problems)

    written = await write.update(core, call, change, write_options)
    return await create.build_response(core, call, written)


def check_not_forced(options: PatchOptions) -> list[FieldError]:
    """Return an error if `force` is set, which only server-side apply allows."""
    if options.force is None:
        return []
    return [forbidden("force", "may not be specified for non-apply patch")]


def check_media_type(call: Call, media: str) -> None:
    """Refuse media types that are not patches.

    Raises:
        UnsupportedMediaType: for custom kinds it lists the supported media types.
    """
    if media in list_media_types(call):
        return
    if call.resource.is_custom:
        raise decoder.build_unsupported(*list_media_types(call))
    raise UnsupportedMediaType("415: Unsupported Media Type", details=Details())


def list_media_types(call: Call) -> tuple[str, ...]:
    """List the media types of patches a resource takes."""
    if call.resource.is_custom:
        return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)


def copy_object(value: Object) -> Object:
    """Copy an object through JSON, which is faster than a deep copy."""
    copied: Object = kit_json.decode(kit_json.encode(value))
    return copied


def shape_patched(
    call: Call,
    value: Any,
    validation: str,
    *,
    patch: Patch,
    problems: Sequence[str] = (),
) -> Object:
    """Normalize a patched object, and check its kind, name and namespace.

    Raises:
        BadRequest, Invalid: if the result does not fit the kind or the path of the request.
    """
    gvk = call.resource.gvk
    if not isinstance(value, dict):
        raise build_rejection()
    keeps_metadata = isinstance(patch, MergePatch) and patch.keeps_metadata
    shape = _shape_all_but_metadata if keeps_metadata else decoder.shape_object
    show = patch.show if isinstance(patch, StrategicPatch) else None
    if isinstance(patch, StrategicPatch) and patch.has_odd_numbers:
        value = builtins.convert_numbers(value, gvk)
    try:
        check_patched_type(call, value, validation)
        shaped = shape(call, value, gvk, field_validation=validation, problems=problems)
    except BadRequest as error:
        prefix = f"cannot be handled as a {gvk.kind}: "
        why = builtins.find_conversion_error(value, gvk) if show else None
        text = show() if show else kit_json.encode(value).decode()
        problem = invalid("patch", text, why or error.message.rpartition(prefix)[2])
        raise Invalid.of("", "", [problem]) from error
    check_namespace(call, shaped["metadata"])
    check_name(call, shaped["metadata"])
    return shaped


def _shape_all_but_metadata(
    call: Call, value: Object, gvk: GVK, *, field_validation: str, problems: Sequence[str]
) -> Object:
    """Normalize an object whose metadata is unchanged; that of a custom one is not read again."""
    if not call.resource.is_custom:
        return decoder.shape_object(
            call, value, gvk, field_validation=field_validation, problems=problems
        )
    metadata, value["metadata"] = value["metadata"], {}
    try:
        shaped = decoder.shape_object(
            call, value, gvk, field_validation=field_validation, problems=problems
        )
    except BadRequest:
        value["metadata"] = metadata
        call.resource.strategy.normalize(value)  # since the error shows the object in shape
        raise
    shaped["metadata"] = metadata
    return shaped
