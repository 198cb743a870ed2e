"""The dashboard beside the hub API: in `up` for the local administrator, in `hub` for viewers."""

import ssl
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.app.errors import SettingError
from quarterdeck.app.hub_settings import HubSettings
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock

if TYPE_CHECKING:
    from quarterdeck.app.hub_identity import Identity
    from quarterdeck.meta.identity import Key
    from quarterdeck.runtime.reconcile.journal import Journal
    from quarterdeck.services.hub.web.consoles import Locate
    from quarterdeck.services.hub.web.dashboard import Dashboard
    from quarterdeck.services.hub.web.explanations import Explain


def build_dashboard(
    hub: http.Handler,
    config: ClusterConfig,
    *,
    identity: "Identity",
    clock: Clock,
    is_loopback: bool = False,
    explain: "Explain | None" = None,
    find_console: "Locate | None" = None,
    hint: str = "",
) -> "Dashboard":
    """Build the handler of the dashboard around the handler of the hub API.

    `config` reaches the API server; its credentials serve to impersonate users whom a trusted
    proxy or an issuer names. `is_loopback` says that only this machine reaches the port.
    """
    from quarterdeck.services.hub.web.comparisons import Comparisons
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
        comparisons=Comparisons(transports, _compare_summaries),
        explanations=Explanations(transports, explain),
        watches=Watches(transports, clock=clock),
        is_loopback=is_loopback,
        hint=hint,
        oidc=identity.oidc,
    )


def _compare_summaries(a: bytes, b: bytes) -> "Sequence[dict[str, Any]]":
    """Compare two summaries; the code is imported on first use, because few dashboards need it."""
    from quarterdeck.app.experiment_comparison import compare_summaries

    return compare_summaries(a, b)


def explain_in_process(journals: "Callable[[], Sequence[Journal]]") -> "Explain":
    """Build a function that explains objects by the journals of operators in this process."""
    from quarterdeck.runtime.reconcile.journal import explain

    async def find(kind: str, key: "Key") -> list[dict[str, Any]]:
        return explain(journals(), kind, key)

    return find


def explain_remotely(
    settings: HubSettings, config: ClusterConfig, *, clock: Clock
) -> "Explain | None":
    """Build a function that asks operators in other processes; None without their address.

    Raises:
        SettingError: if the authority of their certificates cannot be read.
    """
    urls = [each.strip() for each in settings.operators_url.split(",") if each.strip()]
    if not urls:
        return None
    from quarterdeck.client.credentials import build_provider
    from quarterdeck.services.hub.web.remote_journals import RemoteJournals

    for url in urls:
        if not url.startswith("https://"):
            raise SettingError(f"invalid operators_url {url!r} (OPERATORS_URL): must be https://")
    try:
        tls = ssl.create_default_context(cafile=settings.operators_ca_file or None)
    except OSError as error:
        raise SettingError(
            f"cannot read operators_ca_file {settings.operators_ca_file!r} "
            f"(OPERATORS_CA_FILE): {error}"
        ) from error
    provider = build_provider(config, clock)

    async def authorize() -> str:
        return (await provider.get_credentials()).authorization

    return RemoteJournals(urls, authorize=authorize, tls=tls).explain
