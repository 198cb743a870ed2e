"""`authentication.k8s.io/v1`: who is behind a token."""

from collections.abc import Mapping

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Int64, Time
from quarterdeck.meta.objects import Object, Struct


class UserInfo(Struct, frozen=True, kw_only=True):
    """The user of a request: name, groups and extra facts."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class TokenReviewSpec(Struct, frozen=True, kw_only=True):
    """The token to look at; printing does not show it."""

    token: str = ""
    audiences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TokenReviewSpec(token='***', audiences={self.audiences!r})"

    __str__ = __repr__


class TokenReviewStatus(Struct, frozen=True, kw_only=True):
    """Whether the token is good, and whose it is."""

    authenticated: bool = False
    user: UserInfo = UserInfo()
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(Object, frozen=True, kw_only=True):
    """The question whose token this is."""

    KIND = KindInfo(
        group="authentication.k8s.io",
        version="v1",
        kind="TokenReview",
        plural="tokenreviews",
        singular="tokenreview",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    spec: TokenReviewSpec
    status: TokenReviewStatus = TokenReviewStatus()


class SelfSubjectReviewStatus(Struct, frozen=True, kw_only=True):
    """Who asked."""

    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Object, frozen=True, kw_only=True):
    """The question who I am."""

    KIND = KindInfo(
        group="authentication.k8s.io",
        version="v1",
        kind="SelfSubjectReview",
        plural="selfsubjectreviews",
        singular="selfsubjectreview",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


class TokenRequestSpec(Struct, frozen=True, kw_only=True):
    """What the token is for."""

    audiences: tuple[str, ...] = ()
    expiration_seconds: Int64 | None = None


class TokenRequestStatus(Struct, frozen=True, kw_only=True):
    """The token; printing does not show it."""

    token: str = ""
    expiration_timestamp: Time = ""

    def __repr__(self) -> str:
        return f"TokenRequestStatus(token='***', expires={self.expiration_timestamp!r})"

    __str__ = __repr__


class TokenRequest(Object, frozen=True, kw_only=True):
    """A request for a token of a service account."""

    KIND = KindInfo(
        group="authentication.k8s.io",
        version="v1",
        kind="TokenRequest",
        plural="",
        subresource_status=False,
    )
    spec: TokenRequestSpec = TokenRequestSpec()
    status: TokenRequestStatus = TokenRequestStatus()


KINDS: tuple[type[Object], ...] = (TokenReview, SelfSubjectReview, TokenRequest)
