"""`admission.k8s.io/v1`: what an API server asks a webhook, and what it answers."""

from collections.abc import Mapping

from quarterdeck.apis.authentication import UserInfo
from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import ABSENT, Arbitrary, Int32
from quarterdeck.meta.objects import Object, Struct


class GroupVersionKind(Struct, frozen=True, kw_only=True):
    """A kind."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(Struct, frozen=True, kw_only=True):
    """A resource."""

    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(Struct, frozen=True, kw_only=True):
    """A write that waits for an answer; the objects are kept as bytes."""

    uid: str
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str = ""
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = UserInfo()
    object: Arbitrary = ABSENT
    old_object: Arbitrary = ABSENT
    dry_run: bool | None = None
    options: Arbitrary = ABSENT


class ResponseStatus(Struct, frozen=True, kw_only=True):
    """Why a write was refused."""

    code: Int32 = 0
    reason: str = ""
    message: str = ""
    status: str = ""


class AdmissionResponse(Struct, frozen=True, kw_only=True):
    """The answer; `patch` is a JSON patch in base64."""

    uid: str
    allowed: bool
    status: ResponseStatus | None = None
    patch: str | None = None
    patch_type: str | None = None
    audit_annotations: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()


class AdmissionReview(Object, frozen=True, kw_only=True):
    """One question and its answer."""

    KIND = KindInfo(
        group="admission.k8s.io",
        version="v1",
        kind="AdmissionReview",
        plural="",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    request: AdmissionRequest | None = None
    response: AdmissionResponse | None = None


KINDS: tuple[type[Object], ...] = (AdmissionReview,)
