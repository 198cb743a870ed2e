"""Roles and role bindings."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.kit import rfc3339
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, invalid, not_supported, quote, required
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import (
    AGE,
    AGE_TEXT,
    NAME,
    UNKNOWN,
    build_wide_column,
    format_creation_age,
)
from quarterdeck.server.registry.printer import build_column as shown_column
from quarterdeck.server.registry.resource import Context, Object

_GROUP = "rbac.authorization.k8s.io"


# roles -------------------------------------------------------------------------------------------


def _validate_rule(rule: Object, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    resources, urls = rule.get("resources"), rule.get("nonResourceURLs")
    groups = rule.get("apiGroups")
    if urls:
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", _format_strings(urls), text)
        if groups or resources or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", _format_strings(urls), text)
        return
    if not groups:
        text = "resource rules must supply at least one api group"
        yield required(f"{path}.apiGroups", text)
    if not resources:
        text = "resource rules must supply at least one resource"
        yield required(f"{path}.resources", text)


def _format_strings(texts: Sequence[str]) -> Bare:
    return Bare("[]string{" + ", ".join(quote(text) for text in texts) + "}")


def _validate_role(value: Object, context: Context) -> Iterator[FieldError]:
    for index, rule in enumerate(get_items(value, "rules")):
        yield from _validate_rule(rule, f"rules[{index}]", namespaced=True)


def _validate_cluster_role(value: Object, context: Context) -> Iterator[FieldError]:
    for index, rule in enumerate(get_items(value, "rules")):
        yield from _validate_rule(rule, f"rules[{index}]", namespaced=False)
    aggregation = value.get("aggregationRule")
    if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield required("aggregationRule.clusterRoleSelectors", text)
        return
    for index, selector in enumerate(get_items(value, "aggregationRule", "clusterRoleSelectors")):
        path = f"aggregationRule.clusterRoleSelectors[{index}]"
        problems = list(_validate_selector(selector, path))
        yield from problems
        if problems:
            yield invalid(path, "null", "invalid label selector.")


def _validate_selector(selector: Object, path: str) -> Iterator[FieldError]:
    for key in selector.get("matchLabels") or {}:
        for text in names.check_qualified_name(key):
            yield invalid(f"{path}.matchLabels", key, text)


def _prepare_role(value: Object, context: Context) -> None:
    """Store a role without rules as one whose rules are null, as Kubernetes shows it."""
    value["rules"] = value.get("rules") or None


def _build_role_cells(value: Object, now: datetime) -> Sequence[object]:
    stamp = get_mapping(value, "metadata").get("creationTimestamp")
    shown = rfc3339.format_time(rfc3339.parse(stamp)) if stamp else UNKNOWN
    return (value["metadata"].get("name", ""), shown)


_ROLE_COLUMNS = (NAME, shown_column("Created At", "date", text=AGE_TEXT))

ROLE = Rules(
    required_lists=(("rules",),),
    validates_twice=True,
    prepare_create=_prepare_role,
    validate=_validate_role,
    name="path",
    allows_create_on_update=True,
    columns=_ROLE_COLUMNS,
    cells=_build_role_cells,
)
CLUSTER_ROLE = Rules(
    required_lists=(("rules",),),
    validates_twice=True,
    validate=_validate_cluster_role,
    name="path",
    allows_create_on_update=True,
    columns=_ROLE_COLUMNS,
    cells=_build_role_cells,
)


# bindings ----------------------------------------------------------------------------------------


def _default_binding(value: Object) -> None:
    reference = value.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = _GROUP
    for subject in get_items(value, "subjects"):
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


def _validate_reference(value: Object, kinds: Sequence[str]) -> Iterator[FieldError]:
    reference = get_mapping(value, "roleRef")
    if reference.get("apiGroup") != _GROUP:
        yield not_supported("roleRef.apiGroup", reference.get("apiGroup") or "", (_GROUP,))
    if reference.get("kind") not in kinds:
        yield not_supported("roleRef.kind", reference.get("kind") or "", kinds)
    name = reference.get("name") or ""
    if not name:
        yield required("roleRef.name")
    else:
        for problem in names.check_path_segment(name):
            yield invalid("roleRef.name", name, problem)


def _validate_subject(subject: Object, path: str, *, namespaced: bool) -> Iterator[FieldError]:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    if not name:
        yield required(f"{path}.name")
    match subject.get("kind"):
        case "ServiceAccount":
            if name:
                for problem in names.check_dns1123_subdomain(name):
                    yield invalid(f"{path}.name", name, problem)
            if group:
                yield not_supported(f"{path}.apiGroup", group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield required(f"{path}.namespace")
        case "User" | "Group":
            if group != _GROUP:
                yield not_supported(f"{path}.apiGroup", group, (_GROUP,))
        case other:
            choices = ("ServiceAccount", "User", "Group")
            yield not_supported(f"{path}.kind", other or "", choices)


def _validate_binding(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _validate_reference(value, ("Role", "ClusterRole"))
    for index, subject in enumerate(get_items(value, "subjects")):
        yield from _validate_subject(subject, f"subjects[{index}]", namespaced=True)


def _validate_cluster_binding(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _validate_reference(value, ("ClusterRole",))
    for index, subject in enumerate(get_items(value, "subjects")):
        yield from _validate_subject(subject, f"subjects[{index}]", namespaced=False)


def _validate_binding_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    reference = get_mapping(value, "roleRef")
    if reference != get_mapping(old, "roleRef"):
        shown = Bare(
            f"rbac.RoleRef{{APIGroup:{quote(reference.get('apiGroup') or '')},"
            f" Kind:{quote(reference.get('kind') or '')},"
            f" Name:{quote(reference.get('name') or '')}}}"
        )
        yield invalid("roleRef", shown, "cannot change roleRef")


def _build_binding_cells(value: Object, now: datetime) -> Sequence[object]:
    reference = get_mapping(value, "roleRef")
    return (
        value["metadata"].get("name", ""),
        f"{reference.get('kind')}/{reference.get('name')}",
        format_creation_age(value, now),
        *(_format_subjects(value, kind) for kind in ("User", "Group", "ServiceAccount")),
    )


def _format_subjects(value: Object, kind: str) -> str:
    def show(subject: dict[str, Any]) -> str:
        if kind == "ServiceAccount":
            return f"{subject.get('namespace') or ''}/{subject.get('name')}"
        return str(subject.get("name"))

    return ", ".join(
        show(each) for each in get_items(value, "subjects") if each.get("kind") == kind
    )


_BINDING_COLUMNS = (
    NAME,
    shown_column("Role"),
    AGE,
    build_wide_column("Users"),
    build_wide_column("Groups"),
    build_wide_column("ServiceAccounts"),
)

ROLE_BINDING = Rules(
    validates_twice=True,
    default=_default_binding,
    validate=_validate_binding,
    validate_change=_validate_binding_update,
    name="path",
    allows_create_on_update=True,
    columns=_BINDING_COLUMNS,
    cells=_build_binding_cells,
)
CLUSTER_ROLE_BINDING = Rules(
    validates_twice=True,
    default=_default_binding,
    validate=_validate_cluster_binding,
    validate_change=_validate_binding_update,
    name="path",
    allows_create_on_update=True,
    columns=_BINDING_COLUMNS,
    cells=_build_binding_cells,
)
