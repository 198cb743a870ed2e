"""Reads Secrets: the version from watched metadata, the values live, so that no cache has them."""

from typing import TypeVar

from quarterdeck.apis.core.config import Secret
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.operators.clusters.credentials import SecretHead
from quarterdeck.runtime import Context
from quarterdeck.wire.status import NotFound

T = TypeVar("T", bound=Object)


async def read_secret_version(key: Key, ctx: Context[T]) -> str:
    """The version of a Secret by its watched metadata; empty if there is none."""
    head = await ctx.find(SecretHead, key.name, key.namespace)
    return f"{head.metadata.uid}/{head.resource_version}" if head is not None else ""


async def read_secret_values(key: Key, ctx: Context[T]) -> dict[str, bytes] | None:
    """The decoded values of a Secret; None if there is none."""
    try:
        secret = await ctx.api.get_live(Secret, key)
    except NotFound:
        return None
    return {name: secret.read(name) or b"" for name in (*secret.data, *secret.string_data)}
