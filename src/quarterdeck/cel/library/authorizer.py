"""Authorization checks inside an expression.

`Authorizer` is a port: bind a `Subject` to the variable `authorizer`. Checks only collect
attributes until `check(verb)`, so the authorizer is called only for a complete check.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import msgspec

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations.classes import no_overload_error

DECLARATIONS = """
path authorizer_path Authorizer.(string) PathCheck
group authorizer_group Authorizer.(string) GroupCheck
serviceAccount authorizer_serviceaccount Authorizer.(string, string) Authorizer
resource groupcheck_resource GroupCheck.(string) ResourceCheck
subresource resourcecheck_subresource ResourceCheck.(string) ResourceCheck
namespace resourcecheck_namespace ResourceCheck.(string) ResourceCheck
name resourcecheck_name ResourceCheck.(string) ResourceCheck
fieldSelector authorizer_fieldselector ResourceCheck.(string) ResourceCheck
labelSelector authorizer_labelselector ResourceCheck.(string) ResourceCheck
check pathcheck_check PathCheck.(string) Decision
check resourcecheck_check ResourceCheck.(string) Decision
allowed decision_allowed Decision.() bool
reason decision_reason Decision.() string
errored decision_errored Decision.() bool
error decision_error Decision.() string
"""


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of an authorization check; `path` is set for non-resource requests."""

    user: str = ""
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The authorizer's decision."""

    cel_type: ClassVar[types.Type] = types.DECISION

    allowed: bool
    reason: str = ""
    error: str = ""


class Authorizer(Protocol):
    """Decides whether a user may do something."""

    def decide(self, attributes: Attributes) -> Decision:
        """Decide about these attributes; an empty user means the user of the request."""


class Subject(msgspec.Struct, frozen=True):
    """The value of the variable `authorizer`: the authorizer, and the user it checks."""

    cel_type: ClassVar[types.Type] = types.AUTHORIZER

    authorizer: Authorizer
    user: str = ""
    request: Attributes | None = None
    """The attributes of the request, for `authorizer.requestResource`; None without a request."""

    def get(self, member: str) -> "ResourceCheck | None":
        """The value of a member; None if it does not exist."""
        if member != "requestResource" or self.request is None:
            return None
        return ResourceCheck(self.authorizer, self.request)

    def __getitem__(self, member: str) -> "ResourceCheck":
        if (found := self.get(member)) is None:
            raise KeyError(member)
        return found


class _Check(msgspec.Struct, frozen=True):
    authorizer: Authorizer
    attributes: Attributes


class PathCheck(_Check, frozen=True):
    """A check of a non-resource path."""

    cel_type: ClassVar[types.Type] = types.PATH_CHECK


class GroupCheck(_Check, frozen=True):
    """A check of a resource that has only an API group so far."""

    cel_type: ClassVar[types.Type] = types.GROUP_CHECK


class ResourceCheck(_Check, frozen=True):
    """A check of a resource."""

    cel_type: ClassVar[types.Type] = types.RESOURCE_CHECK


def _require_strings(*values: Any) -> None:
    if any(type(value) is not str for value in values):
        raise no_overload_error()


def _check_path(subject: Subject, path: str) -> PathCheck:
    _require_strings(path)
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return PathCheck(subject.authorizer, Attributes(user=subject.user, path=path))


def _check_group(subject: Subject, group: str) -> GroupCheck:
    _require_strings(group)
    return GroupCheck(subject.authorizer, Attributes(user=subject.user, group=group))


def _use_service_account(subject: Subject, namespace: str, name: str) -> Subject:
    from quarterdeck.cel.library.format import FORMATS

    _require_strings(namespace, name)
    if FORMATS["dns1123Subdomain"].problems(name):
        raise EvaluationError("Invalid service account name")
    if FORMATS["dns1123Label"].problems(namespace):
        raise EvaluationError("Invalid service account namespace")
    return Subject(subject.authorizer, f"system:serviceaccount:{namespace}:{name}")


def _check_resource(check: GroupCheck, resource: str) -> ResourceCheck:
    _require_strings(resource)
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    attributes = msgspec.structs.replace(check.attributes, resource=resource)
    return ResourceCheck(check.authorizer, attributes)


def _refine(member: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def refine(check: ResourceCheck, value: str) -> ResourceCheck:
        _require_strings(value)
        attributes = msgspec.structs.replace(check.attributes, **{member: value})
        return ResourceCheck(check.authorizer, attributes)

    return refine


def _check_verb(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    _require_strings(verb)
    return check.authorizer.decide(msgspec.structs.replace(check.attributes, verb=verb))


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "path": {Subject: _check_path},
    "group": {Subject: _check_group},
    "serviceAccount": {Subject: _use_service_account},
    "resource": {GroupCheck: _check_resource},
    "subresource": {ResourceCheck: _refine("subresource")},
    "namespace": {ResourceCheck: _refine("namespace")},
    "name": {ResourceCheck: _refine("name")},
    "fieldSelector": {ResourceCheck: _refine("field_selector")},
    "labelSelector": {ResourceCheck: _refine("label_selector")},
    "check": {PathCheck: _check_verb, ResourceCheck: _check_verb},
    "allowed": {Decision: lambda decision: decision.allowed},
    "reason": {Decision: lambda decision: decision.reason},
    "errored": {Decision: lambda decision: bool(decision.error)},
    "error": {Decision: lambda decision: decision.error},
}
