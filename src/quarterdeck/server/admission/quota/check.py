"""Whether a namespace has room for what is about to be written, in Kubernetes' words.

A quota binds by its status: what was never counted limits nothing yet. So a server without the
controller that counts stores quotas and enforces none, as Kubernetes without its controllers does.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quarterdeck.kit.quantity import Quantity
from quarterdeck.server.admission.quota.scopes import is_about
from quarterdeck.server.admission.quota.usage import (
    PODS,
    Amounts,
    Object,
    add,
    amounts,
    compute,
    limited_by,
    usage,
)

_ZERO = Quantity.of(0)
_MUST_BE_SAID = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)


class QuotaExceeded(Exception):
    """Raised when a quota refuses a write; the message is what Kubernetes says."""


class Charge(NamedTuple):
    """What a quota will say is used, once the write is done."""

    quota: Object
    used: dict[str, str]


def charges(
    resource: str, value: Object, old: Object | None, quotas: Iterable[Object]
) -> list[Charge]:
    """What a write adds to the quotas that it concerns.

    Raises:
        QuotaExceeded: if one of them has no room, or cannot tell.
    """
    concerned = [(quota, members) for quota in quotas if (members := _said(resource, value, quota))]
    wanted = usage(resource, value)
    if negative := sorted(name for name, amount in wanted.items() if amount.sign() < 0):
        raise QuotaExceeded(f"quota usage is negative for resource(s): {','.join(negative)}")
    found = []
    for quota, _ in concerned:
        more = wanted
        if old is not None and is_about(quota, resource, old):
            before = usage(resource, old)
            more = {name: amount - before.get(name, _ZERO) for name, amount in wanted.items()}
        if (used := _charged(quota, more)) is not None:
            found.append(Charge(quota, used))
    return found


def room(pod: Object, quotas: Iterable[Object]) -> tuple[int, str] | None:
    """How many pods like this fit, and what the next one hears; None if nothing limits them."""
    found: tuple[int, str] | None = None
    wanted = usage(PODS, pod)
    for quota in quotas:
        try:
            members = _said(PODS, pod, quota)
        except QuotaExceeded as refusal:
            return 0, str(refusal)
        hard, used = _status(quota)
        for member in members:
            step = wanted.get(member, _ZERO)
            if step.sign() <= 0:
                continue
            left = hard[member] - used[member]
            fits = max(0, _times(left, step))
            if found is None or fits < found[0]:
                full = used[member] + step * fits
                found = (
                    fits,
                    _exceeded(quota, {member: step}, {member: full}, {member: hard[member]}),
                )
    return found


def _times(amount: Quantity, step: Quantity) -> int:
    return int(amount.as_milli() // step.as_milli()) if step.as_milli() else 0


def _said(resource: str, value: Object, quota: Object) -> list[str]:
    """The members of a quota that bind an object.

    Raises:
        QuotaExceeded: if a container does not say what the quota limits, or nobody counted yet.
    """
    hard, used = _status(quota)
    members = limited_by(resource, hard)
    if not members or not is_about(quota, resource, value):
        return []
    name = quota["metadata"].get("name", "")
    if resource == PODS and (missing := _unsaid(value, members)):
        raise QuotaExceeded(f"failed quota: {name}: must specify {missing}")
    if any(member not in used for member in members):
        raise QuotaExceeded(
            f"status unknown for quota: {name}, resources: {','.join(sorted(members))}"
        )
    return members


def _unsaid(pod: Object, members: Sequence[str]) -> str:
    spec = pod.get("spec") or {}
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        said = compute(amounts(resources.get("requests")), amounts(resources.get("limits")))
        for member in _MUST_BE_SAID.intersection(members) - said.keys():
            missing.setdefault(member, set()).add(container.get("name", ""))
    return "; ".join(f"{each} for: {','.join(sorted(missing[each]))}" for each in sorted(missing))


def _charged(quota: Object, more: Amounts) -> dict[str, str] | None:
    hard, used = _status(quota)
    asked = {name: amount for name, amount in more.items() if name in hard and amount.sign() > 0}
    if not asked:
        return None
    new = add(used, asked)
    exceeded = sorted(name for name in asked if new[name] > hard[name])
    if exceeded:
        asked, used, hard = (
            {n: each.get(n, _ZERO) for n in exceeded} for each in (asked, used, hard)
        )
        raise QuotaExceeded(_exceeded(quota, asked, used, hard))
    return {name: str(amount) for name, amount in new.items()}


def _exceeded(quota: Object, asked: Amounts, used: Amounts, hard: Amounts) -> str:
    return (
        f"exceeded quota: {quota['metadata'].get('name', '')}, requested: {_listed(asked)},"
        f" used: {_listed(used)}, limited: {_listed(hard)}"
    )


def _listed(given: Amounts) -> str:
    return ",".join(f"{name}={given[name]}" for name in sorted(given))


def _status(quota: Object) -> tuple[Amounts, Amounts]:
    status = quota.get("status") or {}
    return amounts(status.get("hard")), amounts(status.get("used"))
