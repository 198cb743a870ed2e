"""The dashboard beside the hub API: in `up` for the local administrator, in `hub` for viewers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock

if TYPE_CHECKING:
    from quarterdeck.app.hub_identity import Identity
    from quarterdeck.meta.identity import Key
    from quarterdeck.runtime.reconcile.journal import Journal
    from quarterdeck.services.hub.web.consoles import Locate
    from quarterdeck.services.hub.web.dashboard import Dashboard


def build_dashboard(
    hub: http.Handler,
    config: ClusterConfig,
    *,
    identity: "Identity",
    clock: Clock,
    is_loopback: bool = False,
    journals: "Callable[[], Sequence[Journal]] | None" = None,
    find_console: "Locate | None" = None,
    hint: str = "",
) -> "Dashboard":
    """The handler of the hub's port on the handler of the hub API.

    `config` reaches the API server; its credentials serve to impersonate users whom a trusted
    proxy or an issuer names. `is_loopback` says that only this machine reaches the port.
    """
    from quarterdeck.services.hub.web.consoles import Consoles
    from quarterdeck.services.hub.web.dashboard import Dashboard
    from quarterdeck.services.hub.web.explanations import Explanations
    from quarterdeck.services.hub.web.viewer import Transports
    from quarterdeck.services.hub.web.watches import Watches

    transports = Transports(config, clock=clock)
    return Dashboard(
        hub,
        sessions=identity.sessions,
        transports=transports,
        consoles=Consoles(transports, find_console, clock=clock),
        explanations=Explanations(transports, _build_explain(journals)),
        watches=Watches(transports, clock=clock),
        is_loopback=is_loopback,
        hint=hint,
        oidc=identity.oidc,
    )


def _build_explain(
    journals: "Callable[[], Sequence[Journal]] | None",
) -> "Callable[[str, Key], list[dict[str, Any]]] | None":
    if journals is None:
        return None
    from quarterdeck.runtime.reconcile.journal import explain

    return lambda kind, key: explain(journals(), kind, key)
