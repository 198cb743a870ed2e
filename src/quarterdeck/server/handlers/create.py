"""POST of a new object."""

import functools

from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.wire.query import CreateOptions


async def handle(core: Core, call: Call) -> responses.Response:
    """Read, check and store an object; 201 with the object as it is stored."""
    if call.resource.is_terminating and not write.refuses_applied_objects():
        raise write.build_terminating(call.resource, "")  # without reading the body
    options = CreateOptions.parse(call.request.query)
    write_options = parse_write_options(call, options, "CreateOptions")
    validation = parse_field_validation(options)
    body = decoder.take_body(call, core.options.max_body_bytes)
    if body is None:
        body = await decoder.read_body(call, core.options.max_body_bytes)
    if core.worker.is_quick(len(body)):
        value = decoder.decode_object(call, body, call.resource.gvk, validation)
    else:
        value = await core.worker.run_in_thread(
            functools.partial(decoder.decode_object, call, body, call.resource.gvk, validation)
        )
    written = await write.create(core, call, value, write_options)
    return await build_response(core, call, written)


async def build_response(core: Core, call: Call, written: write.WriteResult) -> responses.Response:
    """Build the answer to a write: 201 for a new object, 200 for a changed one."""
    status = 201 if written.created else 200
    stored = written.body
    if stored is not None:
        if (copied := responses.build_copy(core, call, stored, status)) is not None:
            return copied
        return await core.worker.run(
            responses.estimate_cost(call, len(stored)),
            lambda: responses.build_stored(core, call, stored, status),
        )
    return await core.worker.run(
        responses.estimate_cost(call, max(written.size, len(call.body or b""))),
        lambda: responses.build_object(core, call, written.value, status),
    )
