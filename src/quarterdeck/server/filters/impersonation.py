"""Impersonation: the `Impersonate-*` headers of Kubernetes.

They must not be ignored: a caller that reduces its permissions this way would act with all of them.
"""

from collections.abc import Mapping
from urllib.parse import unquote

from quarterdeck.kit import http
from quarterdeck.server.authentication.user import (
    ANONYMOUS_USER,
    AUTHENTICATED_GROUP,
    UNAUTHENTICATED_GROUP,
    User,
    list_account_groups,
)
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer, check_authorized

_USER, _GROUP, _UID, _EXTRA = (
    "impersonate-user",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-",
)
_PREFIX = "impersonate-"
_ACCOUNT = "system:serviceaccount:"


class HeaderError(Exception):
    """Raised for headers without a user to impersonate; the answer is plain text, not a Status."""


def impersonate(request: http.Request, user: User, authorizer: Authorizer) -> User:
    """Return the user that a request impersonates; the caller if it has no such headers.

    Raises:
        Forbidden: if the caller may not impersonate the user, a group, the uid or an extra value.
        HeaderError: for headers with groups, a uid or extra, but without a user.
    """
    if not request.headers.has_prefix(_PREFIX):
        return user
    name = request.headers.get(_USER)
    groups = tuple(request.headers.get_all(_GROUP))
    uid = request.headers.get(_UID) or ""
    extra = _read_extra(request)
    if not name:
        if groups or uid or extra:
            wanted = _show_requests(groups, uid, extra)
            raise HeaderError(f"requested [{wanted}] without impersonating a user")
        return user
    _check(user, authorizer, User(name=name, uid=uid, groups=groups, extra=extra))
    return User(name=name, uid=uid, groups=_complete_groups(name, groups), extra=extra)


def _show_requests(groups: tuple[str, ...], uid: str, extra: Mapping[str, tuple[str, ...]]) -> str:
    """Format the impersonated groups, uid and extra as Go prints a list of object references."""
    version = "authentication.k8s.io/v1"
    shown = [f"{{Group  {each}    }}" for each in groups]
    shown += [
        f"{{UserExtra  {value}  {version}  {key}}}"
        for key, values in extra.items()
        for value in values
    ]
    if uid:
        shown.append(f"{{UID  {uid}  {version}  }}")
    return " ".join(shown)


def _read_extra(request: http.Request) -> dict[str, tuple[str, ...]]:
    names = [name for name, _ in request.headers.items() if name.startswith(_EXTRA)]
    return {
        unquote(name.removeprefix(_EXTRA)): tuple(request.headers.get_all(name)) for name in names
    }


def _check(user: User, authorizer: Authorizer, other: User) -> None:
    """Check that the caller may impersonate the name, uid, and each group and extra value."""
    name = other.name
    wanted = [Attributes("impersonate", resource="users", name=name)]
    if name.startswith(_ACCOUNT) and name.count(":") == 3:
        _, _, namespace, account = name.split(":")
        wanted = [
            Attributes("impersonate", resource="serviceaccounts", namespace=namespace, name=account)
        ]
    wanted += [Attributes("impersonate", resource="groups", name=each) for each in other.groups]
    group = "authentication.k8s.io"
    if other.uid:
        wanted.append(Attributes("impersonate", group=group, resource="uids", name=other.uid))
    wanted += [
        Attributes("impersonate", group=group, resource="userextras", subresource=key, name=value)
        for key, values in other.extra.items()
        for value in values
    ]
    for attributes in wanted:
        check_authorized(authorizer, user, attributes)


def _complete_groups(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the groups of an impersonated user: those in the headers, and those it always has."""
    if name == ANONYMOUS_USER.name:
        return groups if UNAUTHENTICATED_GROUP in groups else (*groups, UNAUTHENTICATED_GROUP)
    if not groups and name.startswith(_ACCOUNT) and name.count(":") == 3:
        namespace = name.split(":")[2]
        groups = list_account_groups(namespace)
    if UNAUTHENTICATED_GROUP in groups or AUTHENTICATED_GROUP in groups:
        return groups
    return (*groups, AUTHENTICATED_GROUP)
