"""Endpoints of the user: login, permissions, policies, explanations and the audit log."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

import msgspec

from quarterdeck.inventory.access.explanation import Explanation, explain
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import rfc3339
from quarterdeck.services.hub.audit import AuditLog
from quarterdeck.services.hub.call import Call, Page
from quarterdeck.services.hub.errors import AccessDenied
from quarterdeck.services.hub.paging import Paging, slice_page
from quarterdeck.services.hub.policies import Policies
from quarterdeck.services.hub.reading import HubReader

SIGN_OUT = "/oauth2/sign_out"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """The user of a request."""

    username: str
    email: str
    groups: tuple[str, ...]


class AuthStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the user is logged in."""

    authenticated: bool
    message: str
    user: User | msgspec.UnsetType = msgspec.UNSET


class ClusterPermissions(msgspec.Struct, frozen=True, kw_only=True):
    """What may be done with a cluster."""

    permissions: tuple[str, ...]
    access_level: str


class PermissionsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How many clusters there are, and how many may be seen."""

    total_clusters: int
    accessible_clusters: int


class Permissions(msgspec.Struct, frozen=True, kw_only=True):
    """What a user may see."""

    user: User
    summary: PermissionsSummary
    clusters: dict[str, ClusterPermissions]
    accessible_cluster_names: list[str]
    evaluated_at: str


class PolicyEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One policy of a user."""

    source: str
    policy: str
    priority: int


class UserPolicies(msgspec.Struct, frozen=True, kw_only=True):
    """The policies of a user, in the order in which they are looked at."""

    user: User
    total_policies: int
    policies: list[PolicyEntry]
    evaluation_order: list[str]
    retrieved_at: str


class Logout(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the proxy's logout."""

    message: str
    redirect: str


class CacheCleared(msgspec.Struct, frozen=True, kw_only=True):
    """The result of clearing caches."""

    message: str
    rbac_entries_cleared: int
    user: str


class ExplainParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The access to explain: cluster, type and user."""

    cluster: str
    type: str = ""
    user: str = ""
    group: tuple[str, ...] = ()


class AuditParameters(Paging, frozen=True, kw_only=True):
    """Filters of audit records."""

    day: Annotated[
        str,
        msgspec.Meta(
            pattern=r"^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))?$",
            description="Day in UTC, as 2026-05-01; today if left out.",
        ),
    ] = ""
    user: str = ""


class AuthEndpoints:
    """Endpoints below /auth."""

    def __init__(
        self,
        reader: HubReader,
        policies: Policies,
        *,
        audit: AuditLog,
        forget: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._policies = policies
        self._audit = audit
        self._forget = forget

    async def status(self, call: Call) -> AuthStatus:
        """Whether the user is logged in."""
        who = call.principal
        if who is None:
            return AuthStatus(authenticated=False, message="Not authenticated")
        return AuthStatus(authenticated=True, message="Authenticated", user=build_user(who))

    async def me(self, call: Call) -> User:
        """Who is logged in."""
        return build_user(call.viewer.principal)

    async def permissions(self, call: Call) -> Permissions:
        """What may be done with which clusters."""
        viewer = call.viewer
        names = await self._reader.list_clusters()
        labels = await self._reader.get_labels(names)
        found = {}
        for name in names:
            access = viewer.decide_cluster(name, labels[name])
            if access.is_visible:
                is_full = access.decision == "allow" and access.view_metrics
                found[name] = ClusterPermissions(
                    permissions=access.actions, access_level="full" if is_full else "limited"
                )
        # the number of other clusters is hidden from viewers who may not see them
        total = len(names) if viewer.principal.is_master else len(found)
        return Permissions(
            user=build_user(viewer.principal),
            summary=PermissionsSummary(total_clusters=total, accessible_clusters=len(found)),
            clusters=found,
            accessible_cluster_names=list(found),
            evaluated_at=rfc3339.format_time(call.now),
        )

    async def policies(self, call: Call) -> UserPolicies:
        """The policies that match the user."""
        viewer = call.viewer
        entries = [
            PolicyEntry(
                source=each.find_subject(viewer.principal),
                policy=each.identity,
                priority=each.policy.priority,
            )
            for each in viewer.policies
        ]
        return UserPolicies(
            user=build_user(viewer.principal),
            total_policies=len(entries),
            policies=entries,
            evaluation_order=[each.policy for each in entries],
            retrieved_at=rfc3339.format_time(call.now),
        )

    async def explain(self, call: Call) -> Explanation:
        """Explain the access of a user; only masters may ask about others."""
        wanted = call.parameters(ExplainParameters)
        viewer = call.viewer
        own = viewer.principal
        call.audit_note = _describe_request(wanted, own)
        if (wanted.user and wanted.user != own.username) or wanted.group:
            if not own.is_master:
                raise AccessDenied("only members of system:masters may ask about other users")
            other = Principal(username=wanted.user or own.username, groups=wanted.group)
            viewer = await self._policies.build_viewer(other, call.now)
        labels = await self._reader.get_cluster_labels(wanted.cluster)
        return explain(viewer, wanted.cluster, labels or {}, wanted.type)

    async def audit(self, call: Call) -> Page:
        """The records of the audit log, for masters only."""
        wanted = call.parameters(AuditParameters)
        if not call.viewer.principal.is_master:
            raise AccessDenied("only members of system:masters may read the audit log")
        day = call.now
        if wanted.day:
            try:
                day = datetime.fromisoformat(wanted.day)
            except ValueError:  # February 30 fits the schema: nothing happened on it
                return slice_page([], wanted)
        found = await self._audit.read(day)
        return slice_page([each for each in found if wanted.user in ("", each.user)], wanted)

    async def logout(self, call: Call) -> Logout:
        """The address of the proxy's logout, to which the page redirects."""
        assert call.viewer is not None
        return Logout(message="Logged out", redirect=SIGN_OUT)

    async def clear_cache(self, call: Call) -> CacheCleared:
        """Read policies again, and verify tokens again."""
        call.audit_note = "cleared the caches of policies and tokens"
        before = self._policies.count
        await self._policies.refresh()
        self._forget()
        return CacheCleared(
            message="Cache cleared",
            rbac_entries_cleared=before,
            user=call.viewer.principal.username,
        )


def build_user(principal: Principal) -> User:
    """A principal as the API shows it."""
    return User(username=principal.username, email=principal.email, groups=principal.groups)


def _describe_request(wanted: ExplainParameters, own: Principal) -> str:
    """Describe a request to explain access, for the audit log."""
    groups = f" in {', '.join(wanted.group)}" if wanted.group else ""
    what = f"{wanted.type} on {wanted.cluster}" if wanted.type else wanted.cluster
    return f"asked what {wanted.user or own.username}{groups} may see of {what}"
