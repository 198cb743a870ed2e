"""Accepted names of definitions: free names of the group are accepted, and then established.

Pure: computes the status of a definition. `establishment` writes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.meta.field import quote
from quarterdeck.server.registry.resource import Object, Resource

APPROVAL_ANNOTATION = "api-approved.kubernetes.io"
_APPROVAL_LINK = "see https://github.com/kubernetes/enhancements/pull/1111"

Approval = tuple[str, str]
"""A state (`Approved`, `Bypassed`, `Missing`, `Invalid`) and its message."""


class TakenNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names that other resources of the group use."""

    resources: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    @classmethod
    def collect(
        cls, resources: Iterable[Resource], accepted: Iterable[Mapping[str, Any]]
    ) -> "TakenNames":
        """Collect the names of built-in resources, and the `acceptedNames` of other definitions."""
        names: list[str] = []
        kinds: list[str] = []
        for each in resources:
            names += (each.gvr.resource, each.singular, *each.short_names)
            kinds += (each.kind, each.list_kind)
        for other in accepted:
            names += (other.get("plural") or "", other.get("singular") or "")
            names += other.get("shortNames") or ()
            kinds += (other.get("kind") or "", other.get("listKind") or "")
        return cls(resources=frozenset(names), kinds=frozenset(kinds))


class AcceptedNames(msgspec.Struct, frozen=True, kw_only=True):
    """The accepted names of a definition, and the conflict if not all were accepted."""

    names: dict[str, Any]
    reason: str = "NoConflicts"
    message: str = "no conflicts found"

    @property
    def is_accepted(self) -> bool:
        """Whether all requested names were accepted."""
        return self.reason == "NoConflicts"


def accept_names(
    requested: Mapping[str, Any], before: Mapping[str, Any], taken: TakenNames
) -> AcceptedNames:
    """Accept requested names that are free or accepted before; a conflict keeps the old name."""
    names = dict(before)
    reason, message = "NoConflicts", "no conflicts found"
    for member, pool, why in (
        ("plural", taken.resources, "PluralConflict"),
        ("singular", taken.resources, "SingularConflict"),
        ("shortNames", taken.resources, "ShortNamesConflict"),
        ("kind", taken.kinds, "KindConflict"),
        ("listKind", taken.kinds, "ListKindConflict"),
    ):
        wanted = requested.get(member)
        clashes = _find_conflicts(wanted, before.get(member), pool)
        if clashes:
            reason = why
            message = _join_messages([f"{quote(name)} is already in use" for name in clashes])
        elif wanted:
            names[member] = wanted
        else:
            names.pop(member, None)
    if requested.get("categories"):
        names["categories"] = requested["categories"]
    names.setdefault("plural", "")
    names.setdefault("kind", "")
    return AcceptedNames(names=names, reason=reason, message=message)


def _find_conflicts(wanted: Any, before: Any, pool: frozenset[str]) -> list[str]:
    if isinstance(wanted, list):
        known = set(before or ())
        return [name for name in wanted if name not in known and name in pool]
    return [wanted] if wanted and wanted != before and wanted in pool else []


def _join_messages(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def update_status(definition: Object, taken: TakenNames, now: datetime) -> None:
    """Bring `status.acceptedNames` and the conditions up to date, in place."""
    status = definition["status"]
    before = {key: value for key, value in (status.get("acceptedNames") or {}).items() if value}
    verdict = accept_names(definition["spec"].get("names") or {}, before, taken)
    status["acceptedNames"] = verdict.names
    conditions = list(status.get("conditions") or ())
    was_established = is_condition_true(definition, "Established")
    set_condition(
        conditions,
        ("NamesAccepted", verdict.is_accepted, verdict.reason, verdict.message),
        now,
    )
    if verdict.is_accepted and not was_established:
        text = "the initial names have been accepted"
        set_condition(conditions, ("Established", True, "InitialNamesAccepted", text), now)
    elif not was_established:
        text = "not all names are accepted"
        set_condition(conditions, ("Established", False, "NotAccepted", text), now)
    if (approval := get_approval(definition)) is not None:
        state, text = approval
        good = state == "Approved"
        name = "KubernetesAPIApprovalPolicyConformant"
        reason = {"Approved": "ApprovedAnnotation", "Bypassed": "UnapprovedAnnotation"}.get(
            state, f"{state}Annotation"
        )
        set_condition(conditions, (name, good, reason, text), now)
    status["conditions"] = conditions


def set_condition(
    conditions: list[dict[str, Any]], wanted: tuple[str, bool, str, str], now: datetime
) -> None:
    """Set a condition, in place; `lastTransitionTime` changes only if the status does."""
    name, is_true, reason, message = wanted
    status = "True" if is_true else "False"
    stamp = rfc3339.format_time(now)
    for condition in conditions:
        if condition.get("type") == name:
            if condition.get("status") != status:
                condition["lastTransitionTime"] = stamp
            condition.update(status=status, reason=reason, message=message)
            return
    conditions.append(
        {
            "type": name,
            "status": status,
            "lastTransitionTime": stamp,
            "reason": reason,
            "message": message,
        }
    )


def is_condition_true(definition: Object, name: str) -> bool:
    """Whether a condition of a definition holds."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == name and each.get("status") == "True" for each in conditions)


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes project: `k8s.io`, `kubernetes.io` or below."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def get_approval(definition: Object) -> Approval | None:
    """Return the state of approval of a definition in a protected group; none for other groups."""
    if not is_protected((definition.get("spec") or {}).get("group") or ""):
        return None
    text = ((definition.get("metadata") or {}).get("annotations") or {}).get(
        APPROVAL_ANNOTATION
    ) or ""
    if not text:
        missing = f"protected groups must have approval annotation {quote(APPROVAL_ANNOTATION)}"
        return "Missing", f"{missing}, {_APPROVAL_LINK}"
    if text.startswith("unapproved"):
        return "Bypassed", f"not approved: {quote(text)}"
    if "://" in text and text.partition("://")[2]:
        return "Approved", f"approved in {text}"
    return (
        "Invalid",
        f"protected groups must have approval annotation {quote(APPROVAL_ANNOTATION)} with either a"
        f' URL or a reason starting with "unapproved", {_APPROVAL_LINK}',
    )
