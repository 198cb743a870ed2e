"""Checks objects that reach collectors against TenantPolicies. Pure.

A policy binds the requesters it names, or all who write in the namespaces it selects: a
GitOps controller writes for all tenants, so a tenant is better bound by namespace than by user.
Matchers are compared in their canonical form; since all matchers of a pipeline must hold, having
one of the required matchers limits its reach, whatever else it has. A Collector is chosen by its id
and not by matchers: a tenant may create one to read its status, but not to set something.
"""

from collections.abc import Iterable, Mapping, Sequence

from quarterdeck.apis.authentication import UserInfo
from quarterdeck.apis.fleetmanagement.policies import TenantSubject
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    ExternalAttributeSync,
    Pipeline,
    PipelineSet,
    RemoteAttributePolicy,
    TenantPolicy,
)
from quarterdeck.meta.objects import Object
from quarterdeck.telemetry.matchers import canonicalize

BOUND_KINDS: tuple[type[Object], ...] = (
    Pipeline,
    PipelineSet,
    RemoteAttributePolicy,
    ExternalAttributeSync,
    Collector,
)


def select_policies(
    policies: Iterable[TenantPolicy], user: UserInfo, labels: Mapping[str, str]
) -> list[TenantPolicy]:
    """The policies that bind a requester in a namespace with these labels."""
    return [each for each in policies if _is_bound(each, user, labels)]


def _is_bound(policy: TenantPolicy, user: UserInfo, labels: Mapping[str, str]) -> bool:
    spec = policy.spec
    if spec.namespace_selector is not None and not spec.namespace_selector.matches(labels):
        return False
    return not spec.subjects or any(_is_subject(each, user) for each in spec.subjects)


def _is_subject(subject: TenantSubject, user: UserInfo) -> bool:
    match subject.kind:
        case "User":
            return user.username == subject.name
        case "Group":
            return subject.name in user.groups
        case "ServiceAccount":
            return user.username == f"system:serviceaccount:{subject.namespace}:{subject.name}"


def find_violations(obj: Object, policies: Sequence[TenantPolicy]) -> list[str]:
    """Everything about an object that the policies do not allow."""
    if not policies:
        return []
    required = canonicalize(each for policy in policies for each in policy.spec.required_matchers)
    names = ", ".join(sorted(policy.metadata.name for policy in policies))
    found = []
    for field, matchers in _list_matchers(obj):
        if not required & canonicalize(matchers):
            choices = ", ".join(sorted(required))
            found.append(f"{field}: must have one of {choices} (TenantPolicy {names})")
    if _has_ids(obj):
        found.append(
            f"spec.selector.collectorIDs: not allowed under TenantPolicy {names}; use matchers"
        )
    found.extend(
        f"{field}: not allowed under TenantPolicy {names}, because a Collector is chosen by its "
        "id; use a RemoteAttributePolicy with matchers"
        for field in _list_settings(obj)
    )
    return found


def list_widened(
    policies: Iterable[TenantPolicy],
    labels: Mapping[str, str],
    *,
    before: Iterable[str],
    after: Iterable[str],
) -> list[str]:
    """The policies of a namespace with these labels that hold for matchers, and not for others.

    Matchers that come from elsewhere than the spec were not seen by admission. Who wrote the spec
    is not known any more, so each policy that the spec's own matchers satisfy is taken as binding.
    """
    had, has = canonicalize(before), canonicalize(after)
    found = []
    for policy in policies:
        selector = policy.spec.namespace_selector
        required = canonicalize(policy.spec.required_matchers)
        is_here = selector is None or selector.matches(labels)
        if is_here and required & had and not required & has:
            found.append(policy.metadata.name)
    return sorted(found)


def _list_matchers(obj: Object) -> list[tuple[str, tuple[str, ...]]]:
    """Each list of matchers that decides which collectors an object reaches."""
    match obj:
        case Pipeline():
            return [("spec.matchers", obj.spec.matchers)]
        case PipelineSet():
            if obj.spec.selector is not None:
                return []  # its members are Pipelines, and were checked themselves
            common = obj.spec.matchers
            return [
                (f"spec.pipelines[{index}].matchers", (*common, *member.matchers))
                for index, member in enumerate(obj.spec.pipelines)
            ]
        case RemoteAttributePolicy() | ExternalAttributeSync():
            return [("spec.selector.matchers", obj.spec.selector.matchers)]
        case _:
            return []


def _has_ids(obj: Object) -> bool:
    if isinstance(obj, RemoteAttributePolicy | ExternalAttributeSync):
        return bool(obj.spec.selector.collector_ids)
    return False


def _list_settings(obj: Object) -> list[str]:
    """The fields by which an object changes a collector that it names by id."""
    if not isinstance(obj, Collector):
        return []
    spec = obj.spec
    is_set = {
        "spec.name": bool(spec.name),
        "spec.enabled": spec.enabled is not None,
        "spec.remoteAttributes": bool(spec.remote_attributes),
    }
    return [field for field, given in is_set.items() if given]
