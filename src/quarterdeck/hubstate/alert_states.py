"""The times since which alert rules have held on a cluster: `cluster:{name}:alerts`. Pure.

Only times are stored: values and texts are computed for each viewer, from what the viewer may see.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from quarterdeck.hubstate import keys
from quarterdeck.hubstate.writes import SetValue, Write
from quarterdeck.kit import json, rfc3339


class AlertKey(NamedTuple):
    """A rule of a source that holds for a group, or for the cluster if the group is empty."""

    source: str
    rule: str
    group: str


class AlertState(msgspec.Struct, frozen=True, kw_only=True):
    """The time since which a rule has held at every reading."""

    source: str
    rule: str
    group: str = ""
    since: str

    @property
    def key(self) -> AlertKey:
        """Source, rule and group."""
        return AlertKey(self.source, self.rule, self.group)


def get_key(cluster: str) -> str:
    """The key of a cluster's alert states."""
    return keys.cluster(cluster, "alerts")


def decode_states(data: bytes | None) -> dict[AlertKey, AlertState]:
    """Decode stored states; empty if they cannot be decoded."""
    try:
        found = msgspec.json.decode(data or b"[]", type=list[AlertState])
    except msgspec.DecodeError:
        return {}
    return {each.key: each for each in found}


def advance(
    before: Mapping[AlertKey, AlertState], holding: Iterable[AlertKey], now: datetime
) -> list[AlertState]:
    """The states after a reading: rules that still hold keep their time, others are dropped."""
    text = rfc3339.format_time(now)
    return [
        before.get(key) or AlertState(source=key.source, rule=key.rule, group=key.group, since=text)
        for key in sorted(set(holding))
    ]


def plan_states(cluster: str, states: list[AlertState], ttl_s: int) -> Write:
    """Plan the write of a cluster's alert states."""
    return SetValue(get_key(cluster), json.encode(states), ttl_s)


def is_due(state: AlertState, *, for_s: int, now: datetime) -> bool:
    """Whether a rule has held for at least `for_s` seconds, and so is an alert."""
    return (now - rfc3339.parse(state.since)).total_seconds() >= for_s
