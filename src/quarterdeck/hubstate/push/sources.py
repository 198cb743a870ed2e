"""The MetricSources that collectors use, read from the store.

A collector compiles the spec itself, with the same engine as the hub; the compiled definition is
included for collectors that expect it.
"""

import hashlib

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader

_Json = dict[str, msgspec.Raw]


def get_spec_key(namespace: str, name: str) -> str:
    """The key of a source's spec as declared."""
    return f"{keys.source(namespace, name)}:spec"


async def read_sources(state: StateReader) -> tuple[bytes, ...]:
    """All sources as JSON, ordered by name: the compiled definition plus `spec`.

    Raises:
        HubStateError: if the store cannot be asked.
    """
    identities = sorted(await state.get_members(keys.ENABLED_SOURCES))
    names = [tuple(each.split("/", 1)) for each in identities if "/" in each]
    wanted = [key for each in names for key in (keys.source(*each), get_spec_key(*each))]
    found = await state.get_many(wanted) if wanted else []
    return tuple(
        _merge(definition, spec)
        for definition, spec in zip(found[::2], found[1::2], strict=True)
        if definition is not None and spec is not None
    )


def hash_sources(sources: tuple[bytes, ...]) -> str:
    """A hash that changes with any of the sources."""
    return hashlib.sha256(b"\0".join(sources)).hexdigest()[:16]


def _merge(definition: bytes, spec: bytes) -> bytes:
    plain = msgspec.json.decode(definition, type=_Json)
    return msgspec.json.encode(plain | {"spec": msgspec.Raw(spec)})
