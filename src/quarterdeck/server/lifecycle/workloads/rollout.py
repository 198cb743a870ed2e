"""The arithmetic of a rollout: how many pods each replica set of a Deployment should have next.

It only uses numbers, so that tests can prove the bounds: there are never more than
`replicas + surge` pods, and no pod is removed if fewer than `replicas - unavailable` available ones
would be left.
"""

from collections.abc import Sequence
from typing import NamedTuple

_ENOUGH_DIGITS = 18
"""Digits of a percentage that are read; Python refuses to parse thousands of digits."""


class Bounds(NamedTuple):
    """The limits of a rolling update, in pods."""

    surge: int
    unavailable: int


class SetSize(NamedTuple):
    """The replicas of a replica set: `wanted` from its spec, `available` from its status."""

    wanted: int
    available: int


def compute_bounds(replicas: int, surge: int | str | None, unavailable: int | str | None) -> Bounds:
    """Compute the bounds; `surge` is rounded up, `unavailable` down, and not both are zero."""
    up = _resolve_percentage(surge, replicas, round_up=True)
    down = _resolve_percentage(unavailable, replicas, round_up=False)
    if up == 0 and down == 0:
        down = 1
    return Bounds(up, min(down, replicas))


def _resolve_percentage(value: int | str | None, total: int, *, round_up: bool) -> int:
    """Resolve a number, or a percentage of a total."""
    if value is None:
        return 0
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1].lstrip("0")[:_ENOUGH_DIGITS] or "0") * total
        return -(-share // 100) if round_up else share // 100
    return int(value)


def compute_new_replicas(
    replicas: int, limits: Bounds, new: SetSize, old: Sequence[SetSize]
) -> int:
    """Compute how many pods the new replica set should have now."""
    if new.wanted >= replicas:
        return replicas
    total = new.wanted + sum(each.wanted for each in old)
    room = replicas + limits.surge - total
    return new.wanted + max(0, min(room, replicas - new.wanted))


def compute_old_replicas(
    replicas: int, limits: Bounds, new: SetSize, old: Sequence[SetSize]
) -> list[int]:
    """Compute how many pods each old replica set should have now, oldest first.

    Unavailable pods are removed first, then as many others as `limits.unavailable` allows.
    """
    targets = [each.wanted for each in old]
    floor = replicas - limits.unavailable
    total = new.wanted + sum(targets)
    budget = total - floor - max(0, new.wanted - new.available)
    if budget <= 0:
        return targets
    for index, each in enumerate(old):
        taken = min(budget, max(0, each.wanted - each.available))
        targets[index] -= taken
        budget -= taken
    spare = new.available + sum(each.available for each in old) - floor
    for index in range(len(old)):
        taken = min(targets[index], max(0, spare), max(0, budget))
        targets[index] -= taken
        spare -= taken
        budget -= taken
    return targets


def scale_proportionally(
    replicas: int, limits: Bounds, sizes: Sequence[int], former: Sequence[int]
) -> list[int]:
    """Compute the sizes of replica sets after scaling during a rollout, newest first.

    Each keeps its share; `former` is the total that each set was sized for. The remainder of
    rounding is added to (or taken from) the largest.
    """
    allowed = replicas + limits.surge if replicas else 0
    change = allowed - sum(sizes)
    order = sorted(range(len(sizes)), key=lambda index: (-sizes[index], index))
    targets = list(sizes)
    left = change
    for index in order:
        if not left:
            break
        before = former[index] or sum(sizes) or 1
        share = round(sizes[index] * allowed / before) - sizes[index]
        share = max(0, min(share, left)) if change > 0 else min(0, max(share, left))
        targets[index] += share
        left -= share
    if order and left:
        targets[order[0]] = max(0, targets[order[0]] + left)
    return targets
