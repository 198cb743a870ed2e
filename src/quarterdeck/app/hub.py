"""The hub API, and how `up` serves it beside the operators.

In `up` it is loaded by the first request, so that it does not slow down the start.
"""

import secrets
from typing import TYPE_CHECKING

from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.console import DASHBOARD
from quarterdeck.app.dashboard import build_dashboard, explain_in_process
from quarterdeck.app.host import TOKEN_FILE, Endpoint, Host, shorten_path
from quarterdeck.app.hub_identity import build_identity, check_identity_settings
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.metrics import Registry
from quarterdeck.kit.tasks import Supervisor

if TYPE_CHECKING:
    from quarterdeck.app.hub_identity import Identity
    from quarterdeck.services.hub.service import HubServer
    from quarterdeck.services.hub.web.dashboard import Dashboard


async def serve_hub_in_up(
    host: Host, settings: Settings, state: StateStore, history: History
) -> None:
    """Serve the hub API and the dashboard; the administrator's token is accepted.

    Raises:
        StartError: if the port cannot be used.
        SettingError: if a setting is invalid.
    """
    check_identity_settings(settings)
    tasks = await host.stack.enter_async_context(Supervisor("hub-api"))
    host.manager.add_runnable("hub-api", tasks.wait_failed, needs_leader_election=False)
    code = secrets.token_urlsafe(24)
    assert host.folder is not None  # there is one in `up`, which alone serves the hub here
    token_file = shorten_path(host.folder / TOKEN_FILE)
    loaded: list[Dashboard] = []

    async def handle(request: http.Request) -> http.Response | http.StreamResponse:
        if not loaded:
            registry = host.manager.metrics.registry
            links = {code: host.admin_token.reveal()}
            identity = build_identity(settings, api=host.client.raw, clock=host.clock, links=links)
            server = build_hub(
                settings, state, history, identity=identity, clock=host.clock, registry=registry
            )
            tasks.spawn(server.run(), name="hub-api")
            assert host.local is not None
            loaded.append(
                build_dashboard(
                    server.handle,
                    host.local,
                    clock=host.clock,
                    identity=identity,
                    is_loopback=True,
                    explain=explain_in_process(lambda: host.manager.journals),
                    find_console=host.find_console,
                    hint=f"The administrator's token is in {token_file}.",
                )
            )
            host.stack.push_async_callback(loaded[0].aclose)
        return await loaded[0].handle(request)

    listener = await host.serve(
        handle,
        port=host.settings.dashboard_port,
        flag="--dashboard-port",
        name="hub",
        purpose=f"hub API, /api/v1; token in {token_file}",
    )
    what = "the dashboard; this link logs you in once"
    host.endpoints.append(Endpoint(DASHBOARD, f"{listener.url}/login?code={code}", what))


def build_hub(
    settings: Settings,
    state: StateStore,
    history: History,
    *,
    identity: "Identity",
    clock: Clock,
    registry: Registry | None = None,
) -> "HubServer":
    """Build the hub API on a store, a history and the authentication of viewers."""
    from quarterdeck.services.hub.metrics import ApiMetrics
    from quarterdeck.services.hub.policies import PolicyLimits
    from quarterdeck.services.hub.service import HubServer

    limits = PolicyLimits(
        refresh_s=settings.policy_cache_ttl,
        viewer_s=settings.rbac_cache_ttl,
        per_user=settings.max_policies_per_user,
    )
    server = HubServer(
        state,
        history,
        identity.authenticator,
        clock=clock,
        forget=identity.forget,
        metrics=ApiMetrics(registry),
        limits=limits,
        origins=settings.cors_origins,
    )
    server.has_reference_page = settings.swagger_enabled
    return server
