"""The attributes of a collector as matchers see them."""

from collections.abc import Mapping

RESERVED = "collector."
"""Prefix of attributes that only the collector and the server set."""


def merge_attributes(
    identity: str, local: Mapping[str, str], remote: Mapping[str, str]
) -> dict[str, str]:
    """What matchers see: remote wins over local, but never in the reserved names.

    Servers add the id as `collector.ID`; existing operators call it `collector.id`.
    """
    effective = dict(local)
    effective.update((key, value) for key, value in remote.items() if not key.startswith(RESERVED))
    effective["collector.ID"] = identity
    effective.setdefault("collector.id", identity)
    return effective
