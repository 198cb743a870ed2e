"""PATCH by server-side apply: merges a configuration; its manager owns the fields in it."""

import contextlib
from typing import NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import FieldError, required
from quarterdeck.meta.identity import GVK
from quarterdeck.server import write
from quarterdeck.server.authorization.authorizer import check_authorized
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import create, update
from quarterdeck.server.registry import go_numbers
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_name, check_namespace
from quarterdeck.server.response import responses
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import AlreadyExists, BadRequest


async def handle(core: Core, call: Call, body: bytes, options: PatchOptions) -> responses.Response:
    """Apply a configuration; 201 if that makes the object."""
    write_options = parse_write_options(
        call,
        options,
        "PatchOptions",
        subresource=call.path.subresource,
        problems=check_field_manager(options),
    )
    validation = parse_field_validation(options)
    config = await core.worker.run(len(body), lambda: read_config(call, body))

    def merge(live: Object | None) -> Object:
        value = field_managers.apply_configuration(
            core, call, config.value, live, manager=write_options.manager, force=bool(options.force)
        )
        _report_duplicates(call, config, validation)
        if live is None:
            _check_absent(call, value)
        shaped = decoder.shape_object(call, value, call.resource.gvk, field_validation=validation)
        check_namespace(call, shaped["metadata"])
        check_name(call, shaped["metadata"])
        return shaped

    async def make() -> write.WriteResult:
        check_authorized(core.authorizer, call.user, update.build_create_attributes(call))
        field_managers.prepare(core, call)
        value = await core.worker.run(len(body), lambda: merge(None))
        return await write.create(core, call, value, write_options, track=False)

    written: write.WriteResult | None = None
    if core.store.get_pending(call.key) is None and not call.path.subresource:
        with contextlib.suppress(AlreadyExists):  # created concurrently: apply to that object
            written = await make()
    if written is None:
        written = await write.update(core, call, merge, write_options, track=False)
    return await create.build_response(core, call, written)


def check_field_manager(options: PatchOptions) -> list[FieldError]:
    """Return an error if `fieldManager` is not set, which server-side apply requires."""
    if options.field_manager:
        return []
    return [required("fieldManager", "is required for apply patch")]


class Configuration(NamedTuple):
    """An applied configuration, and the errors about duplicate keys in it."""

    value: Object
    duplicates: tuple[str, ...] = ()


def read_configuration(body: bytes) -> Configuration:
    """Read an applied configuration as JSON or YAML.

    Raises:
        BadRequest: if it is neither, or not an object.
    """
    duplicates: list[str] = []
    try:
        config = kit_json.decode(body)
        paths = kit_json.find_duplicate_keys(body) if _may_repeat_keys(body, config) else ()
        keys = (path.rpartition(".")[2] for path in paths)
        duplicates = [f'line 1: key "{key}" already set in map' for key in keys]
    except kit_json.JsonError:
        config = decoder.decode_yaml(body, duplicates=duplicates)
    if config is None:
        config = {}
    if not isinstance(config, dict):
        raise BadRequest("error decoding YAML: an applied configuration must be an object")
    return Configuration(config, tuple(duplicates))


def _may_repeat_keys(body: bytes, config: object) -> bool:
    """Whether a body may have duplicate keys: decoded and encoded again it has fewer quotes."""
    return kit_json.encode(config).count(b'"') != body.count(b'"')


def _report_duplicates(call: Call, config: Configuration, validation: str) -> None:
    if not config.duplicates:
        return
    if validation == "Strict":
        raise BadRequest(
            "error strict decoding YAML: error converting YAML to JSON:"
            f" {decoder.format_yaml_duplicates(list(config.duplicates))}"
        )
    if validation == "Warn":
        for each in config.duplicates:
            call.warn(each)


def read_config(call: Call, body: bytes) -> Configuration:
    """Read a configuration that is applied to an object.

    Raises:
        BadRequest: if it cannot be read, or is of another kind or version.
    """
    config = read_configuration(body)
    if go_numbers.may_have_whole_floats(kit_json.encode(config.value)):
        go_numbers.write_whole_floats(config.value)
    check_applied_type(config.value, call.resource.gvk)
    return config


def check_applied_type(config: Object, gvk: GVK) -> None:
    """Compare kind and version of a configuration with those of the endpoint.

    Raises:
        BadRequest: naming the kind and version of the configuration.
    """
    kind, api_version = config.get("kind"), config.get("apiVersion")
    if (api_version, kind) == (gvk.api_version, gvk.kind):
        return
    text = api_version if isinstance(api_version, str) and api_version.count("/") < 2 else ""
    group, _, version = text.rpartition("/")
    shown = kind if isinstance(kind, str) else ""
    raise BadRequest(f"invalid object type: {group}/{version}, Kind={shown}")


def _check_absent(call: Call, value: Object) -> None:
    """Refuse a configuration with a uid, or with an invalid resourceVersion, for a new object."""
    if version := value["metadata"].get("resourceVersion"):
        write.check_resource_version(version)
    if uid := value["metadata"].get("uid"):
        raise write.build_conflict(
            call,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was"
            " found",
        )
