"""Every endpoint of the hub, in one table."""

from typing import Any

from quarterdeck.inventory.access.explanation import Explanation
from quarterdeck.services.hub.alerts import Alert
from quarterdeck.services.hub.audit import Record
from quarterdeck.services.hub.endpoints import (
    alerts,
    auth,
    clusters,
    contents,
    custom,
    history,
    registries,
)
from quarterdeck.services.hub.endpoints.alerts import AlertEndpoints
from quarterdeck.services.hub.endpoints.auth import AuthEndpoints
from quarterdeck.services.hub.endpoints.clusters import ClusterEndpoints
from quarterdeck.services.hub.endpoints.contents import ContentEndpoints
from quarterdeck.services.hub.endpoints.custom import CustomEndpoints
from quarterdeck.services.hub.endpoints.history import HistoryEndpoints
from quarterdeck.services.hub.endpoints.registries import HealthEndpoints, RegistryEndpoints
from quarterdeck.services.hub.paging import Paging
from quarterdeck.services.hub.ranges import RangeParameters
from quarterdeck.services.hub.router import Endpoint, Login, Route

API = "/api/v1"
STREAM = f"{API}/events/stream"
OPENAPI = f"{API}/openapi.json"
SWAGGER = f"{API}/swagger"
"""Paths of the reference page; index.html is kept for existing links."""
_Rows = list[dict[str, Any]]


def list_auth_routes(auth_: AuthEndpoints) -> list[Route]:
    """Routes of authentication and permissions."""
    at = f"{API}/auth"
    return [
        Route(
            "GET",
            f"{at}/status",
            auth_.status,
            "Whether the user is logged in",
            auth.AuthStatus,
            login=Login.OPTIONAL,
        ),
        Route("GET", f"{at}/me", auth_.me, "Who is logged in", auth.User),
        Route(
            "GET",
            f"{at}/permissions",
            auth_.permissions,
            "Permissions of the user by cluster",
            auth.Permissions,
        ),
        Route(
            "GET",
            f"{at}/policies",
            auth_.policies,
            "Policies that apply to the user",
            auth.UserPolicies,
        ),
        Route(
            "GET",
            f"{at}/explain",
            auth_.explain,
            "Why a user may or may not see something",
            Explanation,
            auth.ExplainParameters,
            failures=(403,),
        ),
        Route(
            "GET",
            f"{at}/audit",
            auth_.audit,
            "Audit log of one day, newest first; for system:masters",
            list[Record],
            auth.AuditParameters,
            failures=(403,),
        ),
        Route("POST", f"{at}/logout", auth_.logout, "Log out", auth.Logout),
        Route(
            "POST",
            f"{at}/cache/clear",
            auth_.clear_cache,
            "Clear the caches of policies and tokens",
            auth.CacheCleared,
        ),
    ]


def list_cluster_routes(clusters_: ClusterEndpoints, contents_: ContentEndpoints) -> list[Route]:
    """Routes of clusters and their contents."""
    at = f"{API}/clusters"
    one = f"{at}/{{name}}"
    return [
        Route(
            "GET",
            at,
            clusters_.list,
            "Clusters that the user may see",
            list[clusters.ClusterItem],
            Paging,
        ),
        Route("GET", one, clusters_.get, "One cluster", clusters.ClusterDetail),
        Route("GET", f"{one}/nodes", contents_.nodes, "Nodes", _Rows, contents.NodeParameters),
        Route(
            "GET",
            f"{one}/nodes/{{node}}",
            contents_.node,
            "One node",
            dict[str, Any],
            contents.NodeDetailParameters,
        ),
        Route(
            "GET",
            f"{one}/operators",
            contents_.operators,
            "Operators",
            _Rows,
            contents.OperatorParameters,
        ),
        Route(
            "GET",
            f"{one}/namespaces",
            contents_.namespaces,
            "Namespaces: names, or numbers of each",
            list[str | contents.NamespaceItem],
            contents.NamespaceParameters,
        ),
        Route(
            "GET",
            f"{one}/events",
            contents_.events,
            "Events, newest first",
            _Rows,
            contents.EventParameters,
        ),
    ]


def list_alert_routes(alerts_: AlertEndpoints) -> list[Route]:
    """Routes of alerts."""
    return [
        Route(
            "GET",
            f"{API}/alerts",
            alerts_.fleet,
            "Alerts of all clusters that the user may see, worst first",
            list[Alert],
            alerts.FleetAlertParameters,
        ),
        Route(
            "GET",
            f"{API}/clusters/{{name}}/alerts",
            alerts_.cluster,
            "Alerts of a cluster, worst first",
            list[Alert],
            alerts.AlertParameters,
        ),
    ]


def list_custom_routes(custom_: CustomEndpoints) -> list[Route]:
    """Routes of the types of MetricSources."""
    at = f"{API}/custom-types"
    return [
        Route(
            "GET",
            f"{API}/clusters/{{name}}/custom/{{type}}",
            custom_.resources,
            "Objects of a type on a cluster",
            custom.CustomResources,
            custom.CustomParameters,
        ),
        Route(
            "GET",
            at,
            custom_.types,
            "Types that the user may see",
            list[custom.CustomType],
            custom.TypesParameters,
        ),
        Route(
            "GET",
            f"{at}/clusters",
            custom_.counts,
            "Number of objects by type and cluster",
            list[custom.CustomCount],
            custom.CountsParameters,
        ),
    ]


def list_history_routes(history_: HistoryEndpoints) -> list[Route]:
    """Routes of metrics over time."""
    one = f"{API}/clusters/{{name}}"

    def route(path: str, endpoint: Endpoint, summary: str, kind: type[RangeParameters]) -> Route:
        return Route(
            "GET", path, endpoint, summary, history.HistoryAnswer, kind, failures=(403, 502)
        )

    tail = "metrics/history"
    return [
        route(f"{one}/{tail}", history_.cluster, "A metric of a cluster", history.ClusterRange),
        route(
            f"{one}/nodes/{{node}}/{tail}",
            history_.node,
            "A metric of a node",
            history.NodeRange,
        ),
        route(
            f"{one}/operators/{tail}",
            history_.operators,
            "A state of every operator",
            history.StateRange,
        ),
        route(
            f"{one}/custom-resources/{{source}}/{tail}",
            history_.custom,
            "An aggregation of a MetricSource, by namespace%2Fname or by type",
            history.AggregationRange,
        ),
        route(
            f"{API}/{tail}",
            history_.fleet,
            "A metric of every cluster that the user may see",
            history.FleetRange,
        ),
    ]


def list_other_routes(health: HealthEndpoints, registries_: RegistryEndpoints) -> list[Route]:
    """Routes of health and registries."""
    return [
        Route(
            "GET",
            "/healthz",
            health.healthz,
            "Whether the process runs",
            registries.Health,
            login=Login.NONE,
        ),
        Route(
            "GET",
            "/readyz",
            health.readyz,
            "Whether the store answers",
            registries.Health,
            login=Login.NONE,
            failures=(503,),
        ),
        Route(
            "GET",
            f"{API}/registries/status",
            registries_.status,
            "Registries",
            list[registries.RegistryItem],
            Paging,
        ),
    ]
