"""The input of an endpoint: request, viewer and parameters."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.access.viewer import ClusterAccess, Viewer
from quarterdeck.kit.http import Request
from quarterdeck.services.hub.errors import Unauthenticated, deny_cluster
from quarterdeck.services.hub.identity import REQUIRED

Parameters = TypeVar("Parameters", bound=msgspec.Struct)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list; the response body has the items, headers have the rest."""

    items: list[Any]
    total: int
    page: int
    size: int


class Call:
    """The input of an endpoint: one request."""

    def __init__(
        self,
        request: Request,
        values: Mapping[str, str],
        parameters: msgspec.Struct,
        *,
        viewer: Viewer | None,
        now: datetime,
    ) -> None:
        self.request = request
        self.values = values
        self.now = now
        self.audit_note = ""
        """The note in the audit log if the call succeeds; empty for none."""
        self._parameters = parameters
        self._viewer = viewer

    @property
    def viewer(self) -> Viewer:
        """The viewer, with their access.

        Raises:
            Unauthenticated: without a login.
        """
        if self._viewer is None:
            raise Unauthenticated(REQUIRED)
        return self._viewer

    @property
    def principal(self) -> Principal | None:
        """The authenticated principal; None without a login."""
        return self._viewer.principal if self._viewer is not None else None

    def parameters(self, kind: type[Parameters]) -> Parameters:
        """The parameters, as the type that the route declares."""
        assert isinstance(self._parameters, kind)
        return self._parameters

    def check_cluster(self, name: str, labels: Mapping[str, str] | None) -> ClusterAccess:
        """What may be seen of a cluster; `labels` are None if there is no such cluster.

        Raises:
            AccessDenied: if nothing may be seen; the same for a cluster that does not exist, so
                that viewers cannot find out which clusters exist.
        """
        access = self.viewer.decide_cluster(name, labels or {})
        # it would be seen without labels, and a cluster that exists may be hidden by its labels
        is_unclear = labels is None and self.viewer.uses_labels
        if not access.is_visible or is_unclear:
            raise deny_cluster(name)
        return access
