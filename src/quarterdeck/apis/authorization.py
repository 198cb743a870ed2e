"""`authorization.k8s.io/v1`: whether a user may perform an action."""

from collections.abc import Mapping

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.objects import Object, Struct


class ResourceAttributes(Struct, frozen=True, kw_only=True):
    """A request for a resource."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class NonResourceAttributes(Struct, frozen=True, kw_only=True):
    """A request for a path."""

    path: str = ""
    verb: str = ""


class SubjectAccessReviewSpec(Struct, frozen=True, kw_only=True):
    """The user and the action that is reviewed."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}
    uid: str = ""


class SelfSubjectAccessReviewSpec(Struct, frozen=True, kw_only=True):
    """The action of the caller that is reviewed."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class SubjectAccessReviewStatus(Struct, frozen=True, kw_only=True):
    """The answer."""

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


def _info(kind: str, *, scope: Scope = Scope.CLUSTER) -> KindInfo:
    return KindInfo(
        group="authorization.k8s.io",
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        scope=scope,
        subresource_status=False,
    )


class SubjectAccessReview(Object, frozen=True, kw_only=True):
    """Whether a user may perform an action."""

    KIND = _info("SubjectAccessReview")
    spec: SubjectAccessReviewSpec
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class LocalSubjectAccessReview(Object, frozen=True, kw_only=True):
    """Whether a user may perform an action in this namespace."""

    KIND = _info("LocalSubjectAccessReview", scope=Scope.NAMESPACED)
    spec: SubjectAccessReviewSpec
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SelfSubjectAccessReview(Object, frozen=True, kw_only=True):
    """May I do something?"""

    KIND = _info("SelfSubjectAccessReview")
    spec: SelfSubjectAccessReviewSpec
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


KINDS: tuple[type[Object], ...] = (
    SubjectAccessReview,
    LocalSubjectAccessReview,
    SelfSubjectAccessReview,
)
