"""Roles and who holds them."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit import rfc3339
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from quarterdeck.server.kinds.fields import items, mapping
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, AGE_TEXT, NAME, UNKNOWN, created, wide
from quarterdeck.server.registry.printer import column as shown_column
from quarterdeck.server.registry.resource import Context, Object

_GROUP = "rbac.authorization.k8s.io"


# roles -------------------------------------------------------------------------------------------


def _rule_problems(rule: Object, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    resources, urls = rule.get("resources"), rule.get("nonResourceURLs")
    groups = rule.get("apiGroups")
    if urls:
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", _strings(urls), text)
        if groups or resources or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", _strings(urls), text)
        return
    if not groups:
        text = "resource rules must supply at least one api group"
        yield required(f"{path}.apiGroups", text)
    if not resources:
        text = "resource rules must supply at least one resource"
        yield required(f"{path}.resources", text)


def _strings(texts: Sequence[str]) -> Bare:
    return Bare("[]string{" + ", ".join(quote(text) for text in texts) + "}")


def _role_problems(value: Object, context: Context) -> Iterator[FieldError]:
    for index, rule in enumerate(items(value, "rules")):
        yield from _rule_problems(rule, f"rules[{index}]", namespaced=True)


def _cluster_role_problems(value: Object, context: Context) -> Iterator[FieldError]:
    for index, rule in enumerate(items(value, "rules")):
        yield from _rule_problems(rule, f"rules[{index}]", namespaced=False)
    aggregation = value.get("aggregationRule")
    if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield required("aggregationRule.clusterRoleSelectors", text)


def _role_cells(value: Object, now: datetime) -> Sequence[object]:
    stamp = mapping(value, "metadata").get("creationTimestamp")
    shown = rfc3339.format_time(rfc3339.parse(stamp)) if stamp else UNKNOWN
    return (value["metadata"].get("name", ""), shown)


_ROLE_COLUMNS = (NAME, shown_column("Created At", "date", text=AGE_TEXT))

ROLE = Rules(
    validate=_role_problems,
    name="path",
    create_on_update=True,
    columns=_ROLE_COLUMNS,
    cells=_role_cells,
)
CLUSTER_ROLE = Rules(
    validate=_cluster_role_problems,
    name="path",
    create_on_update=True,
    columns=_ROLE_COLUMNS,
    cells=_role_cells,
)


# bindings ----------------------------------------------------------------------------------------


def _default_binding(value: Object) -> None:
    reference = value.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = _GROUP
    for subject in items(value, "subjects"):
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


def _reference_problems(value: Object, kinds: Sequence[str]) -> Iterator[FieldError]:
    reference = mapping(value, "roleRef")
    if reference.get("apiGroup") != _GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup") or "", (_GROUP,))
    if reference.get("kind") not in kinds:
        yield not_supported("roleRef.kind", reference.get("kind") or "", kinds)
    name = reference.get("name") or ""
    if not name:
        yield required("roleRef.name")
    else:
        for problem in names.path_segment(name):
            yield invalid("roleRef.name", name, problem)


def _subject_problems(subject: Object, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    if not name:
        yield required(f"{path}.name")
    match subject.get("kind"):
        case "ServiceAccount":
            if name:
                for problem in names.dns1123_subdomain(name):
                    yield invalid(f"{path}.name", name, problem)
            if group:
                yield not_supported(f"{path}.apiGroup", group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{path}.namespace")
        case "User" | "Group":
            if group != _GROUP:
                yield not_supported(f"{path}.apiGroup", group, (_GROUP,))
            if subject.get("namespace"):
                yield forbidden(f"{path}.namespace", "not allowed for this kind of subject")
        case other:
            choices = ("ServiceAccount", "User", "Group")
            yield not_supported(f"{path}.kind", other or "", choices)


def _binding_problems(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _reference_problems(value, ("Role", "ClusterRole"))
    for index, subject in enumerate(items(value, "subjects")):
        yield from _subject_problems(subject, f"subjects[{index}]", namespaced=True)


def _cluster_binding_problems(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _reference_problems(value, ("ClusterRole",))
    for index, subject in enumerate(items(value, "subjects")):
        yield from _subject_problems(subject, f"subjects[{index}]", namespaced=False)


def _binding_changes(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    reference = mapping(value, "roleRef")
    if reference != mapping(old, "roleRef"):
        shown = Bare(
            f"rbac.RoleRef{{APIGroup:{quote(reference.get('apiGroup') or '')},"
            f" Kind:{quote(reference.get('kind') or '')},"
            f" Name:{quote(reference.get('name') or '')}}}"
        )
        yield invalid("roleRef", shown, "cannot change roleRef")


def _binding_cells(value: Object, now: datetime) -> Sequence[object]:
    reference = mapping(value, "roleRef")
    return (
        value["metadata"].get("name", ""),
        f"{reference.get('kind')}/{reference.get('name')}",
        created(value, now),
        *(_subjects(value, kind) for kind in ("User", "Group", "ServiceAccount")),
    )


def _subjects(value: Object, kind: str) -> str:
    def show(subject: dict[str, Any]) -> str:
        if kind == "ServiceAccount":
            return f"{subject.get('namespace') or ''}/{subject.get('name')}"
        return str(subject.get("name"))

    return ", ".join(show(each) for each in items(value, "subjects") if each.get("kind") == kind)


_BINDING_COLUMNS = (
    NAME,
    shown_column("Role"),
    AGE,
    wide("Users"),
    wide("Groups"),
    wide("ServiceAccounts"),
)

ROLE_BINDING = Rules(
    default=_default_binding,
    validate=_binding_problems,
    validate_change=_binding_changes,
    name="path",
    create_on_update=True,
    columns=_BINDING_COLUMNS,
    cells=_binding_cells,
)
CLUSTER_ROLE_BINDING = Rules(
    default=_default_binding,
    validate=_cluster_binding_problems,
    validate_change=_binding_changes,
    name="path",
    create_on_update=True,
    columns=_BINDING_COLUMNS,
    cells=_binding_cells,
)
