"""GET of one object, or of its status."""

from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.read.resource_version import parse_version, wait_for_version
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.server.response.forms import check_single
from quarterdeck.wire.query import GetOptions
from quarterdeck.wire.status import ApiError, BadRequest


async def handle(core: Core, call: Call) -> responses.Response:
    """Answer with the stored bytes, or with the form that the client asks for."""
    if call.request.query:
        options = GetOptions.parse(call.request.query)
        if options.resource_version:
            await _wait_for_version(core, call, options.resource_version)
    entry = core.store.get(call.key)
    if entry is None:
        raise write.build_not_found(call)
    if (copied := responses.build_copy(core, call, entry.value)) is not None:
        return copied
    check_single(call.resource, call.choice)
    return await core.worker.run(
        responses.estimate_cost(call, len(entry.value)),
        lambda: responses.build_stored(core, call, entry.value),
    )


async def _wait_for_version(core: Core, call: Call, version: str) -> None:
    """Wait for a version; for events an invalid one has the text of Kubernetes' store."""
    if call.resource.stored_name == "events":
        try:
            parse_version(version)
        except ApiError as error:
            raise BadRequest(f"invalid resource version: {error.message}") from error
    await wait_for_version(core, version)
