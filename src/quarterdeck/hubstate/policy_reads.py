"""Policies as the store has them."""

from collections.abc import Iterable

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.ports import StateReader
from quarterdeck.inventory.policy import CompiledPolicy

_decoder = msgspec.json.Decoder(CompiledPolicy)


async def read_policies(state: StateReader) -> tuple[list[CompiledPolicy], list[str]]:
    """Every enabled policy, and the keys of those that cannot be read."""
    found, unreadable = [], []
    names: Iterable[str] = sorted(await state.get_members(keys.ENABLED_POLICIES))
    for key in names:
        policy = await _read(state, key)
        if policy is None:
            unreadable.append(key)
        else:
            found.append(policy)
    return found, unreadable


async def _read(state: StateReader, key: str) -> CompiledPolicy | None:
    text = (await state.get_fields(key)).get("data")
    if text is None:
        return None
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError:
        return None
