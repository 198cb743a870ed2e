"""PATCH by server-side apply."""

from quarterdeck.server import answers
from quarterdeck.server.call import Call
from quarterdeck.server.core import Core
from quarterdeck.server.pipeline import decode
from quarterdeck.wire.media import JSON_PATCH, MERGE_PATCH
from quarterdeck.wire.query import PatchOptions


async def handle(core: Core, call: Call, body: bytes, options: PatchOptions) -> answers.Answer:
    """Apply a configuration."""
    raise decode.unsupported(JSON_PATCH, MERGE_PATCH)
