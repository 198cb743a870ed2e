"""PATCH by server-side apply: merges a configuration; its manager owns the fields in it."""

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import required
from quarterdeck.server import write
from quarterdeck.server.authorization.authorizer import check_authorized
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import create, update
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_name, check_namespace, require_name
from quarterdeck.server.response import responses
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import BadRequest, Invalid


async def handle(core: Core, call: Call, body: bytes, options: PatchOptions) -> responses.Response:
    """Apply a configuration; 201 if that makes the object."""
    check_field_manager(options)
    write_options = parse_write_options(
        call, options, "PatchOptions", subresource=call.path.subresource
    )
    validation = parse_field_validation(options, "PatchOptions")
    config = await core.worker.run(
        len(body), lambda: read_config(call, body, is_strict=validation == "Strict")
    )

    def merge(live: Object | None) -> Object:
        value = field_managers.apply_configuration(
            core, call, config, live, manager=write_options.manager, force=bool(options.force)
        )
        shaped = decoder.shape_object(call, value, call.resource.gvk, field_validation=validation)
        check_name(call, shaped["metadata"])
        check_namespace(call, shaped["metadata"])
        return shaped

    if core.store.get_pending(call.key) is not None or call.path.subresource:
        written = await write.update(core, call, merge, write_options, track=False)
    else:
        check_authorized(core.authorizer, call.user, update.build_create_attributes(call))
        _check_absent(call, config)
        field_managers.prepare(core, call)
        value = await core.worker.run(len(body), lambda: merge(None))
        written = await write.create(core, call, value, write_options, track=False)
    return await create.build_response(core, call, written)


def check_field_manager(options: PatchOptions) -> None:
    """Refuse an apply whose owner is not named.

    Raises:
        Invalid: naming the option.
    """
    if not options.field_manager:
        problem = required("fieldManager", "is required for apply patch")
        raise Invalid.of("PatchOptions", "", [problem], group="meta.k8s.io")


def read_document(body: bytes, *, is_strict: bool = False) -> Object:
    """Read an applied configuration as JSON or YAML.

    Raises:
        BadRequest: if it is neither, or not an object, or strict and names a key twice.
    """
    duplicates: list[str] = []
    try:
        config = kit_json.decode(body)
        if is_strict:
            paths = kit_json.find_duplicate_keys(body)
            keys = (path.rpartition(".")[2] for path in paths)
            duplicates = [f'line 1: key "{key}" already set in map' for key in keys]
    except kit_json.JsonError:
        config = decoder.decode_yaml(body, duplicates=duplicates)
    if duplicates and is_strict:
        raise BadRequest(
            "error strict decoding YAML: error converting YAML to JSON:"
            f" {decoder.format_yaml_duplicates(duplicates)}"
        )
    if not isinstance(config, dict):
        raise BadRequest("error decoding YAML: an applied configuration must be an object")
    return config


def read_config(call: Call, body: bytes, *, is_strict: bool) -> Object:
    """Read an applied configuration: JSON mostly, YAML by its media type.

    Raises:
        BadRequest: if it is neither, or of another kind or name, or names a key twice where that
            counts.
    """
    config = read_document(body, is_strict=is_strict)
    gvk = call.resource.gvk
    if config.get("kind") != gvk.kind:
        group, _, version = str(config.get("apiVersion") or "").rpartition("/")
        raise BadRequest(f"invalid object type: {group}/{version}, Kind={config.get('kind') or ''}")
    decoder.check_metadata(config, gvk)
    require_name(config["metadata"])
    check_name(call, config["metadata"])
    return config


def _check_absent(call: Call, config: Object) -> None:
    uid = config["metadata"].get("uid")
    if uid:
        raise write.build_conflict(
            call,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was"
            " found",
        )
