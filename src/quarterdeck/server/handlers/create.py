"""POST of a new object."""

from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.server.write.options import intent_of, validation_of
from quarterdeck.wire.query import CreateOptions


async def handle(core: Core, call: Call) -> responses.Answer:
    """Read, check and store an object; 201 with the object as it is stored."""
    options = CreateOptions.parse(call.request.query)
    intent = intent_of(call, options, "CreateOptions")
    validation = validation_of(options, "CreateOptions")
    body = await decoder.read_body(call, core.options.max_body_bytes)
    value = decoder.decode_object(call, body, call.resource.gvk, validation)
    written = await write.create(core, call, value, intent)
    return answer(core, call, written)


def answer(core: Core, call: Call, written: write.Written) -> responses.Answer:
    """The answer to a write: 201 for a new object, 200 for a changed one."""
    status = 201 if written.created else 200
    if written.body is not None:
        return responses.stored(core, call, written.body, status)
    return responses.served(core, call, written.value, status)
