"""The attributes of a collector that matchers compare."""

from collections.abc import Mapping

RESERVED = "collector."
"""Prefix of attributes that only the collector and the server set."""


def merge_attributes(
    identity: str, local: Mapping[str, str], remote: Mapping[str, str]
) -> dict[str, str]:
    """Merge attributes for matchers: remote ones win over local ones, except reserved names.

    Servers add the id as `collector.ID`; existing operators call it `collector.id`.
    """
    effective = dict(local)
    effective.update((key, value) for key, value in remote.items() if not key.startswith(RESERVED))
    effective["collector.ID"] = identity
    effective.setdefault("collector.id", identity)
    return effective
