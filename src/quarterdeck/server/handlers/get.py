"""GET of one object, or of its status."""

from quarterdeck.server import answers, writing
from quarterdeck.server.call import Call
from quarterdeck.server.core import Core
from quarterdeck.server.reading import wait_for_version
from quarterdeck.wire.query import GetOptions


async def handle(core: Core, call: Call) -> answers.Answer:
    """The stored bytes as they are, unless the client wants another form."""
    if call.request.query:
        options = GetOptions.parse(call.request.query)
        if options.resource_version:
            await wait_for_version(core, options.resource_version)
    entry = core.store.get(call.key)
    if entry is None:
        raise writing.missing(call)
    return answers.stored(core, call, entry.value)
