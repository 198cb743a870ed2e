"""Policies of the audit log: `audit.k8s.io/v1`, kind Policy. Pure but for `read_policy`."""

import enum
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from quarterdeck.server.authentication.user import User

_API_VERSION = "audit.k8s.io/v1"
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")


class PolicyError(ValueError):
    """Raised when a policy file cannot be used; names the file and the field."""


class Level(enum.IntEnum):
    """How much is written about a request."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def wire_name(self) -> str:
        """The name in policies and events."""
        return _LEVELS_SHOWN[self]


_LEVELS_SHOWN = {
    Level.NONE: "None",
    Level.METADATA: "Metadata",
    Level.REQUEST: "Request",
    Level.REQUEST_RESPONSE: "RequestResponse",
}
_LEVELS = {name: level for level, name in _LEVELS_SHOWN.items()}


class GroupResources(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Resources of one group."""

    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A rule of a policy; empty lists match everything."""

    level: str
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[str, ...] = ()
    omit_managed_fields: bool | None = None


class Subject(NamedTuple):
    """The attributes of a request that the rules of a policy match."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    """The path of a non-resource request."""


class Decision(NamedTuple):
    """The audit level of a request, and which stages and fields are left out."""

    level: Level
    omitted_stages: frozenset[str]
    omits_managed_fields: bool


_NOTHING = Decision(Level.NONE, frozenset(), omits_managed_fields=False)


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The rules of a policy: the first that matches decides, and without one nothing is written."""

    rules: tuple[Rule, ...]
    omit_stages: tuple[str, ...] = ()
    omit_managed_fields: bool = False

    def decide(self, subject: Subject) -> Decision:
        """Find the level of a request."""
        for rule in self.rules:
            if _matches(rule, subject):
                omits = rule.omit_managed_fields
                return Decision(
                    _LEVELS[rule.level],
                    frozenset((*self.omit_stages, *rule.omit_stages)),
                    self.omit_managed_fields if omits is None else omits,
                )
        return _NOTHING


def read_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises:
        PolicyError: if it cannot be read, or is not a valid policy.
    """
    from quarterdeck.kit import yaml

    try:
        document = yaml.load(path.read_text(encoding="utf-8"))
        return parse_policy(document)
    except (OSError, ValueError) as error:
        raise PolicyError(f"cannot use the audit policy {path}: {error}") from error


def parse_policy(document: Any) -> Policy:
    """Parse a policy.

    Raises:
        PolicyError: naming what is wrong.
    """
    if not isinstance(document, Mapping) or document.get("kind") != "Policy":
        raise PolicyError("expected an object of kind Policy")
    if document.get("apiVersion") != _API_VERSION:
        raise PolicyError(f"apiVersion must be {_API_VERSION}")
    try:
        policy = msgspec.convert(dict(document), Policy)
    except msgspec.ValidationError as error:
        raise PolicyError(str(error)) from error
    if not policy.rules:
        raise PolicyError("rules must have at least one rule")
    for index, rule in enumerate(policy.rules):
        if rule.level not in _LEVELS:
            raise PolicyError(
                f"rules[{index}].level: {rule.level!r} must be one of {', '.join(_LEVELS)}"
            )
        if rule.resources and rule.non_resource_urls:
            raise PolicyError(f"rules[{index}] has both resources and nonResourceURLs")
        _check_stages(rule.omit_stages, f"rules[{index}].omitStages")
    _check_stages(policy.omit_stages, "omitStages")
    return policy


def _check_stages(stages: Sequence[str], field: str) -> None:
    if unknown := [each for each in stages if each not in STAGES]:
        raise PolicyError(f"{field}: {unknown[0]!r} must be one of {', '.join(STAGES)}")


def _matches(rule: Rule, subject: Subject) -> bool:
    if rule.users and subject.user.name not in rule.users:
        return False
    if rule.user_groups and not set(rule.user_groups) & set(subject.user.groups):
        return False
    if rule.verbs and not {"*", subject.verb} & set(rule.verbs):
        return False
    if rule.namespaces or rule.resources:
        return not subject.path and _matches_resource(rule, subject)
    if rule.non_resource_urls:
        return bool(subject.path) and any(
            _matches_path(each, subject.path) for each in rule.non_resource_urls
        )
    return True


def _matches_path(pattern: str, path: str) -> bool:
    if pattern == "*" or pattern == path:
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def _matches_resource(rule: Rule, subject: Subject) -> bool:
    if rule.namespaces and subject.namespace not in rule.namespaces:
        return False
    if not rule.resources:
        return True
    combined = subject.resource
    if subject.subresource:
        combined = f"{subject.resource}/{subject.subresource}"
    wanted = {combined, "*", f"{subject.resource}/*", f"*/{subject.subresource}"}
    if not subject.subresource:
        wanted = {combined, "*"}
    for each in rule.resources:
        if each.group != subject.group:
            continue
        if each.resource_names and subject.name not in each.resource_names:
            continue
        if not each.resources or wanted & set(each.resources):
            return True
    return False
