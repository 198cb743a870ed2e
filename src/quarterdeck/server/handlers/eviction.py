"""POST of an eviction: the polite way to delete a pod."""

from quarterdeck.kit import json as kit_json
from quarterdeck.server import answers
from quarterdeck.server.call import Call
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import delete
from quarterdeck.server.handlers.update import check_name
from quarterdeck.server.pipeline import decode
from quarterdeck.wire.query import DeleteOptions
from quarterdeck.wire.status import BadRequest


async def handle(core: Core, call: Call) -> answers.Answer:
    """Delete the pod with the options of the eviction."""
    body = await decode.read_body(call, core.options.max_body_bytes)
    value = decode.decode_document(body, decode.content_type(call))
    if not isinstance(value, dict) or not isinstance(value.get("metadata") or {}, dict):
        raise BadRequest("an eviction must be an Eviction object")
    check_name(call, value.setdefault("metadata", {}))
    options = DeleteOptions.from_body(value.get("deleteOptions") or {})
    await delete.delete(core, call, options)
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    return answers.document(core, call, kit_json.encode(document), 201)
