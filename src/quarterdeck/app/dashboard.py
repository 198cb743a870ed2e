"""The dashboard beside the hub API: in `up` for the local administrator, in `hub` for viewers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock

if TYPE_CHECKING:
    from quarterdeck.meta.identity import Key
    from quarterdeck.runtime.reconcile.journal import Journal
    from quarterdeck.services.hub.web.dashboard import Dashboard


def build_dashboard(
    hub: http.Handler,
    config: ClusterConfig,
    *,
    clock: Clock,
    links: Mapping[str, str] | None = None,
    journals: "Callable[[], Sequence[Journal]] | None" = None,
    hint: str = "",
) -> "Dashboard":
    """The handler of the hub's port on the handler of the hub API.

    `config` reaches the API server; its credentials serve to impersonate users of a trusted proxy.
    With `links` it is that of `up`: on loopback, each code standing for a token, once.
    """
    from quarterdeck.services.hub.web.dashboard import Dashboard
    from quarterdeck.services.hub.web.explanations import Explanations
    from quarterdeck.services.hub.web.sessions import Sessions
    from quarterdeck.services.hub.web.viewer import Transports
    from quarterdeck.services.hub.web.watches import Watches

    transports = Transports(config, clock=clock)
    return Dashboard(
        hub,
        sessions=Sessions(clock=clock, links=links),
        transports=transports,
        explanations=Explanations(transports, _build_explain(journals)),
        watches=Watches(transports, clock=clock),
        is_loopback=links is not None,
        hint=hint,
    )


def _build_explain(
    journals: "Callable[[], Sequence[Journal]] | None",
) -> "Callable[[str, Key], list[dict[str, Any]]] | None":
    if journals is None:
        return None
    from quarterdeck.runtime.reconcile.journal import explain

    return lambda kind, key: explain(journals(), kind, key)
