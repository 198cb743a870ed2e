"""Computes the rules of a user from roles and bindings. Pure: objects are passed in.

Bindings are indexed by their subjects, so a check costs the same with ten bindings and with ten
thousand. The rules of a user in a namespace are collected once and cached until a role or a binding
changes, so a repeated check is two look-ups.
"""

import enum
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from quarterdeck.server.authorization.policy_rule import (
    PolicyRule,
    matches_group,
    matches_path,
    matches_resource,
    matches_verb,
    parse_rules,
)

ACCOUNT_PREFIX = "system:serviceaccount:"
_KEPT_USERS = 1024

AllowsRule = Callable[[PolicyRule], bool]
"""Tests whether one rule allows a request."""
_KEPT_ANSWERS = 4096


class Source(enum.Enum):
    """The four RBAC resources that permissions are computed from."""

    ROLES = "roles"
    CLUSTER_ROLES = "clusterroles"
    ROLE_BINDINGS = "rolebindings"
    CLUSTER_ROLE_BINDINGS = "clusterrolebindings"


class Subject(NamedTuple):
    """The subject of a binding: a user or a group. A service account is the user of its tokens."""

    is_group: bool
    name: str


class Binding(msgspec.Struct, frozen=True):
    """A RoleBinding, or a ClusterRoleBinding if the namespace is empty."""

    namespace: str
    name: str
    role: tuple[Source, str, str]
    """Kind, namespace and name of the role; the namespace of a ClusterRole is empty."""
    subjects: tuple[Subject, ...]


class ResourceAccess(NamedTuple):
    """A verb on a resource, without the name of an object: the key of cached decisions."""

    verb: str
    group: str
    resource: str
    subresource: str


class Allowance(NamedTuple):
    """The binding and subject by which a request is allowed; `str` is the text in reviews."""

    binding: Binding
    subject: Subject

    def __str__(self) -> str:
        source, _, role = self.binding.role
        kind = "Role" if source is Source.ROLES else "ClusterRole"
        name, namespace = self.binding.name, self.binding.namespace
        where = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        return f'RBAC: allowed by {where} of {kind} "{role}" to {_describe_subject(self.subject)}'


class Permissions:
    """The rules of one user in one namespace, or cluster-wide, with cached decisions."""

    def __init__(self, rules: Iterable[PolicyRule]) -> None:
        self.rules = tuple(rules)
        self._answers: dict[ResourceAccess, frozenset[str] | None] = {}

    def allows(self, access: ResourceAccess, name: str) -> bool:
        """Whether a rule allows a verb on the object `name`; empty if the request has no name."""
        if access not in self._answers:
            if len(self._answers) >= _KEPT_ANSWERS:
                self._answers.clear()
            self._answers[access] = self._find_names(access)
        names = self._answers[access]
        return names is None or name in names

    def allows_path(self, verb: str, path: str) -> bool:
        """Whether a rule allows a verb on a path that names no resource."""
        return any(matches_verb(rule, verb) and matches_path(rule, path) for rule in self.rules)

    def _find_names(self, access: ResourceAccess) -> frozenset[str] | None:
        """Return the object names for which rules allow a verb; None if they allow all names."""
        names: set[str] = set()
        for rule in self.rules:
            if (
                matches_verb(rule, access.verb)
                and matches_group(rule, access.group)
                and matches_resource(rule, access.resource, access.subresource)
            ):
                if not rule.resource_names:
                    return None
                names.update(rule.resource_names)
        return frozenset(names)


class Grants:
    """All roles and bindings of a cluster."""

    def __init__(self) -> None:
        self._roles: dict[tuple[Source, str, str], tuple[PolicyRule, ...]] = {}
        self._bindings: dict[tuple[Source, str, str], Binding] = {}
        self._by_subject: dict[Subject, dict[tuple[Source, str, str], Binding]] = {}
        self._permissions: OrderedDict[tuple[str, tuple[str, ...], str], Permissions] = (
            OrderedDict()
        )

    def put(self, source: Source, value: Mapping[str, Any]) -> None:
        """Add or replace a role or binding."""
        metadata = value["metadata"]
        key = (source, metadata.get("namespace") or "", metadata["name"])
        self._permissions.clear()
        if source in (Source.ROLES, Source.CLUSTER_ROLES):
            self._roles[key] = parse_rules(value.get("rules"))
            return
        self._unbind(key)
        binding = _parse_binding(key, value)
        self._bindings[key] = binding
        for subject in binding.subjects:
            self._by_subject.setdefault(subject, {})[key] = binding

    def remove(self, source: Source, namespace: str, name: str) -> None:
        """Remove a role or binding; an unknown one is not an error."""
        key = (source, namespace, name)
        self._permissions.clear()
        if source in (Source.ROLES, Source.CLUSTER_ROLES):
            self._roles.pop(key, None)
        else:
            self._unbind(key)

    def get_role_rules(
        self, source: Source, namespace: str, name: str
    ) -> tuple[PolicyRule, ...] | None:
        """Return the rules of a role; None if there is no such role."""
        return self._roles.get((source, namespace, name))

    def get_permissions(self, user: str, groups: tuple[str, ...], namespace: str) -> Permissions:
        """Return the permissions of a user in a namespace; cluster-wide ones if it is empty."""
        key = (user, groups, namespace)
        found = self._permissions.get(key)
        if found is None:
            found = Permissions(self._collect(user, groups, namespace))
            self._permissions[key] = found
            if len(self._permissions) > _KEPT_USERS:
                self._permissions.popitem(last=False)
        else:
            self._permissions.move_to_end(key)
        return found

    def explain(
        self, user: str, groups: tuple[str, ...], namespace: str, *, allows: AllowsRule
    ) -> Allowance | None:
        """Return the first binding with a rule for which `allows` is true; None if none has."""
        for binding, subject in self._find_bindings(user, groups, namespace):
            if any(allows(rule) for rule in self._roles.get(binding.role, ())):
                return Allowance(binding, subject)
        return None

    def _collect(self, user: str, groups: tuple[str, ...], namespace: str) -> Iterator[PolicyRule]:
        for binding, _ in self._find_bindings(user, groups, namespace):
            yield from self._roles.get(binding.role, ())

    def _find_bindings(
        self, user: str, groups: tuple[str, ...], namespace: str
    ) -> list[tuple[Binding, Subject]]:
        """Find the bindings of a user: first cluster-wide ones, then those of the namespace."""
        subjects = [Subject(is_group=False, name=user)]
        subjects.extend(Subject(is_group=True, name=group) for group in groups)
        found: dict[tuple[str, str], tuple[Binding, Subject]] = {}
        for subject in subjects:
            for binding in self._by_subject.get(subject, {}).values():
                if binding.namespace in ("", namespace):
                    found.setdefault((binding.namespace, binding.name), (binding, subject))
        return [found[key] for key in sorted(found)]

    def _unbind(self, key: tuple[Source, str, str]) -> None:
        binding = self._bindings.pop(key, None)
        for subject in binding.subjects if binding is not None else ():
            bound = self._by_subject.get(subject, {})
            bound.pop(key, None)
            if not bound:
                self._by_subject.pop(subject, None)


def _describe_subject(subject: Subject) -> str:
    if subject.is_group:
        return f'Group "{subject.name}"'
    if subject.name.startswith(ACCOUNT_PREFIX):
        namespace, _, name = subject.name.removeprefix(ACCOUNT_PREFIX).partition(":")
        return f'ServiceAccount "{name}/{namespace}"'
    return f'User "{subject.name}"'


def resolve_role(value: Mapping[str, Any]) -> tuple[Source, str, str]:
    """Return the source, namespace and name of the role that a binding refers to."""
    reference = value.get("roleRef") or {}
    name = reference.get("name") or ""
    if reference.get("kind") == "ClusterRole":
        return (Source.CLUSTER_ROLES, "", name)
    return (Source.ROLES, (value.get("metadata") or {}).get("namespace") or "", name)


def _parse_binding(key: tuple[Source, str, str], value: Mapping[str, Any]) -> Binding:
    _, namespace, name = key
    return Binding(
        namespace=namespace,
        name=name,
        role=resolve_role(value),
        subjects=tuple(dict.fromkeys(_parse_subjects(value.get("subjects") or (), namespace))),
    )


def _parse_subjects(subjects: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Subject]:
    for subject in subjects:
        name = subject.get("name") or ""
        match subject.get("kind"):
            case "User":
                yield Subject(is_group=False, name=name)
            case "Group":
                yield Subject(is_group=True, name=name)
            case "ServiceAccount":
                home = subject.get("namespace") or namespace
                if home:
                    yield Subject(is_group=False, name=f"{ACCOUNT_PREFIX}{home}:{name}")
