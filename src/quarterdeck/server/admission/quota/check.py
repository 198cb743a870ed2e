"""Whether a namespace has room for what is about to be written, in Kubernetes' words.

A quota binds by its status: what was never counted limits nothing yet. So a server without the
controller that counts stores quotas and enforces none, as Kubernetes without its controllers does.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quarterdeck.kit.quantity import Quantity
from quarterdeck.server.admission.quota.scopes import matches_scopes
from quarterdeck.server.admission.quota.usage import (
    PODS,
    Amounts,
    Object,
    add,
    compute,
    measure_usage,
    parse_amounts,
    select_members,
)

_ZERO = Quantity.of(0)
_REQUIRED_MEMBERS = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)


class QuotaExceeded(Exception):
    """Raised when a quota refuses a write; the message is that of Kubernetes."""


class Charge(NamedTuple):
    """A quota, and its usage after the write."""

    quota: Object
    used: dict[str, str]


def compute_charges(
    resource: str, value: Object, old: Object | None, quotas: Iterable[Object]
) -> list[Charge]:
    """Compute the new usage of each quota that a write counts against.

    Raises:
        QuotaExceeded: if the write exceeds a quota, or the usage of a quota is not known yet.
    """
    concerned = [
        (quota, members) for quota in quotas if (members := _select_members(resource, value, quota))
    ]
    wanted = measure_usage(resource, value)
    if negative := sorted(name for name, amount in wanted.items() if amount.sign() < 0):
        raise QuotaExceeded(f"quota usage is negative for resource(s): {','.join(negative)}")
    found = []
    for quota, _ in concerned:
        more = wanted
        if old is not None and matches_scopes(quota, resource, old):
            before = measure_usage(resource, old)
            more = {name: amount - before.get(name, _ZERO) for name, amount in wanted.items()}
        if (used := _charge_quota(quota, more)) is not None:
            found.append(Charge(quota, used))
    return found


def compute_remaining_pods(pod: Object, quotas: Iterable[Object]) -> tuple[int, str] | None:
    """Compute how many such pods fit, and the error for one more; None if no quota limits them."""
    found: tuple[int, str] | None = None
    wanted = measure_usage(PODS, pod)
    for quota in quotas:
        try:
            members = _select_members(PODS, pod, quota)
        except QuotaExceeded as refusal:
            return 0, str(refusal)
        hard, used = _read_status(quota)
        for member in members:
            step = wanted.get(member, _ZERO)
            if step.sign() <= 0:
                continue
            left = hard[member] - used[member]
            fits = max(0, _count_times(left, step))
            if found is None or fits < found[0]:
                full = used[member] + step * fits
                found = (
                    fits,
                    _format_exceeded(quota, {member: step}, {member: full}, {member: hard[member]}),
                )
    return found


def _count_times(amount: Quantity, step: Quantity) -> int:
    return int(amount.as_milli() // step.as_milli()) if step.as_milli() else 0


def _select_members(resource: str, value: Object, quota: Object) -> list[str]:
    """Select the members of a quota that limit an object.

    Raises:
        QuotaExceeded: if a container lacks a limited resource, or the quota was not counted yet.
    """
    hard, used = _read_status(quota)
    members = select_members(resource, hard)
    if not members or not matches_scopes(quota, resource, value):
        return []
    name = quota["metadata"].get("name", "")
    if resource == PODS and (missing := _find_missing(value, members)):
        raise QuotaExceeded(f"failed quota: {name}: must specify {missing}")
    if any(member not in used for member in members):
        raise QuotaExceeded(
            f"status unknown for quota: {name}, resources: {','.join(sorted(members))}"
        )
    return members


def _find_missing(pod: Object, members: Sequence[str]) -> str:
    spec = pod.get("spec") or {}
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        said = compute(
            parse_amounts(resources.get("requests")), parse_amounts(resources.get("limits"))
        )
        for member in _REQUIRED_MEMBERS.intersection(members) - said.keys():
            missing.setdefault(member, set()).add(container.get("name", ""))
    return "; ".join(f"{each} for: {','.join(sorted(missing[each]))}" for each in sorted(missing))


def _charge_quota(quota: Object, more: Amounts) -> dict[str, str] | None:
    hard, used = _read_status(quota)
    asked = {name: amount for name, amount in more.items() if name in hard and amount.sign() > 0}
    if not asked:
        return None
    new = add(used, asked)
    exceeded = sorted(name for name in asked if new[name] > hard[name])
    if exceeded:
        asked, used, hard = (
            {n: each.get(n, _ZERO) for n in exceeded} for each in (asked, used, hard)
        )
        raise QuotaExceeded(_format_exceeded(quota, asked, used, hard))
    return {name: str(amount) for name, amount in new.items()}


def _format_exceeded(quota: Object, asked: Amounts, used: Amounts, hard: Amounts) -> str:
    return (
        f"exceeded quota: {quota['metadata'].get('name', '')}, requested: {_format_amounts(asked)},"
        f" used: {_format_amounts(used)}, limited: {_format_amounts(hard)}"
    )


def _format_amounts(given: Amounts) -> str:
    return ",".join(f"{name}={given[name]}" for name in sorted(given))


def _read_status(quota: Object) -> tuple[Amounts, Amounts]:
    status = quota.get("status") or {}
    return parse_amounts(status.get("hard")), parse_amounts(status.get("used"))
