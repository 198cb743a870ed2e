"""PUT of an object, or of its status."""

from quarterdeck.server import write
from quarterdeck.server.authorization.authorizer import Attributes, check_authorized
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import create
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_name, check_namespace
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.wire.query import UpdateOptions


async def handle(core: Core, call: Call) -> responses.Response:
    """Replace an object; for some kinds PUT creates an object that does not exist."""
    options = UpdateOptions.parse(call.request.query)
    write_options = parse_write_options(
        call, options, "UpdateOptions", subresource=call.path.subresource
    )
    validation = parse_field_validation(options)
    body = await decoder.read_body(call, core.options.max_body_bytes)

    def read() -> Object:
        value = decoder.decode_object(call, body, call.resource.gvk, validation)
        check_namespace(call, value["metadata"])
        check_name(call, value["metadata"])
        return value

    value = await core.worker.run(len(body), read)
    if core.store.get_pending(call.key) is None:
        write.check_absent_uid(call, value["metadata"])
    if core.store.get_pending(call.key) is None and _may_create(call):
        check_authorized(core.authorizer, call.user, build_create_attributes(call))
        value["metadata"].pop("resourceVersion", None)
        written = await write.create(core, call, value, write_options)
    else:
        ready: list[Object] = [value]
        written = await write.update(
            core, call, lambda _old: ready.pop() if ready else read(), write_options
        )
    return await create.build_response(core, call, written)


def _may_create(call: Call) -> bool:
    return call.resource.strategy.allow_create_on_update and not call.path.subresource


def build_create_attributes(call: Call) -> Attributes:
    """Build the attributes to authorize an update or apply that creates the object."""
    gvr, path = call.resource.gvr, call.path
    return Attributes(
        verb="create",
        group=gvr.group,
        version=gvr.version,
        resource=gvr.resource,
        namespace=path.namespace,
        name=path.name,
    )
