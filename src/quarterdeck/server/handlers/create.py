"""POST of a new object."""

from quarterdeck.server import answers, writing
from quarterdeck.server.call import Call
from quarterdeck.server.core import Core
from quarterdeck.server.handlers.options import intent_of, validation_of
from quarterdeck.server.pipeline import decode
from quarterdeck.wire.query import CreateOptions


async def handle(core: Core, call: Call) -> answers.Answer:
    """Read, check and store an object; 201 with the object as it is stored."""
    options = CreateOptions.parse(call.request.query)
    intent = intent_of(call, options, "CreateOptions")
    validation = validation_of(options, "CreateOptions")
    body = await decode.read_body(call, core.options.max_body_bytes)
    value = decode.decode_object(call, body, call.resource.gvk, validation)
    written = await writing.create(core, call, value, intent)
    return answer(core, call, written)


def answer(core: Core, call: Call, written: writing.Written) -> answers.Answer:
    """The answer to a write: 201 for a new object, 200 for a changed one."""
    status = 201 if written.created else 200
    if written.body is not None:
        return answers.stored(core, call, written.body, status)
    return answers.served(core, call, written.value, status)
