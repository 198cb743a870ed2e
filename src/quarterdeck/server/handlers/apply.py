"""PATCH by server-side apply: the client says what it wants to be so, and owns that much."""

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import required
from quarterdeck.server import write
from quarterdeck.server.authorization.authorizer import check
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import create, update
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_name, check_namespace
from quarterdeck.server.response import responses
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import intent_of, validation_of
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import BadRequest, Invalid


async def handle(core: Core, call: Call, body: bytes, options: PatchOptions) -> responses.Answer:
    """Apply a configuration; 201 if that makes the object."""
    if not options.field_manager:
        problem = required("fieldManager", "is required for apply patch")
        raise Invalid.of("PatchOptions", "", [problem], group="meta.k8s.io")
    intent = intent_of(call, options, "PatchOptions", subresource=call.path.subresource)
    validation = validation_of(options, "PatchOptions")
    config = read_config(call, body)

    def merged(live: Object | None) -> Object:
        value = field_managers.apply(
            core, call, config, live, manager=intent.manager, force=bool(options.force)
        )
        shaped = decoder.shape(call, value, call.resource.gvk, field_validation=validation)
        check_name(call, shaped["metadata"])
        check_namespace(call, shaped["metadata"])
        return shaped

    if core.store.get_pending(call.key) is not None or call.path.subresource:
        written = await write.update(core, call, merged, intent, track=False)
    else:
        check(core.authorizer, call.user, update.creation(call))
        _check_absent(call, config)
        written = await write.create(core, call, merged(None), intent, track=False)
    return create.answer(core, call, written)


def read_config(call: Call, body: bytes) -> Object:
    """Read an applied configuration: JSON mostly, YAML by its media type.

    Raises:
        BadRequest: if it is neither, or of another kind or name.
    """
    try:
        config = kit_json.decode(body)
    except kit_json.JsonError:
        config = decoder.decode_yaml(body)
    if not isinstance(config, dict):
        raise BadRequest("error decoding YAML: an applied configuration must be an object")
    gvk = call.resource.gvk
    if config.get("kind") != gvk.kind:
        raise BadRequest(
            f"the kind in the data ({config.get('kind') or ''}) does not match the expected kind"
            f" ({gvk.kind})"
        )
    decoder.check_metadata(config, gvk)
    check_name(call, config["metadata"])
    return config


def _check_absent(call: Call, config: Object) -> None:
    uid = config["metadata"].get("uid")
    if uid:
        raise write.conflict(
            call,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was"
            " found",
        )
