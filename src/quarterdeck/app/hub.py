"""The hub API of this process: in `up` beside the operators, and `quarterdeck hub` alone.

In `up` it is loaded by the first request: nobody waits for it who does not use it.
"""

import contextlib
import random
import secrets
import ssl
from typing import TYPE_CHECKING

from quarterdeck.app.bind_address import metrics_page, parse_bind
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.console import DASHBOARD
from quarterdeck.app.dashboard import build_dashboard, explain_elsewhere, explain_here
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.app.host import TOKEN_FILE, Endpoint, Host, shorten_path
from quarterdeck.app.hub_identity import build_identity, check_identity_settings
from quarterdeck.app.hub_storage import open_history, open_state
from quarterdeck.app.ports import DRAIN_S, HOST, check_port, listen
from quarterdeck.app.settings import Settings as ProcessSettings
from quarterdeck.app.signals import StopSignal
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.metrics import Registry
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger

if TYPE_CHECKING:
    from quarterdeck.app.hub_identity import Identity
    from quarterdeck.client.interfaces import Api
    from quarterdeck.runtime.endpoints.server import Endpoints, MetricsPage
    from quarterdeck.runtime.observability.logging import Logger
    from quarterdeck.services.hub.service import HubServer
    from quarterdeck.services.hub.web.dashboard import Dashboard

_ALL_INTERFACES = "0.0.0.0"
_METRICS_INSIDE = ":8080"
"""Where metrics are inside a cluster unless told otherwise."""


async def serve_hub_in_up(
    host: Host, settings: Settings, state: StateStore, history: History
) -> None:
    """Serve the hub API on the port of the dashboard; the administrator's token works.

    Raises:
        StartError: if the port cannot be used.
        SettingError: if a setting is invalid.
    """
    check_identity_settings(settings)
    tasks = await host.stack.enter_async_context(Supervisor("hub-api"))
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
                    explain=explain_here(lambda: host.manager.journals),
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
        what=f"hub API, /api/v1; token in {token_file}",
    )
    what = "the dashboard; this link logs you in once"
    host.endpoints.append(Endpoint(DASHBOARD, f"{listener.url}/login?code={code}", what))


async def serve_hub(process: ProcessSettings, settings: Settings) -> None:
    """Serve the hub API until a signal asks to stop.

    Raises:
        StartError: if the port, the store or the kubeconfig cannot be used.
        SettingError: if a setting is invalid.
        Interrupted: if a signal came before it was ready.
    """
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.locate import is_in_cluster, load_config
    from quarterdeck.client.errors import ClientError

    clock, log = SystemClock(), get_logger("hub")
    check_identity_settings(settings)
    if not settings.redis_url and not settings.redis_host:
        raise SettingError(
            "quarterdeck hub reads the state that another process writes: set REDIS_URL or "
            "REDIS_HOST to the Redis of `quarterdeck run`; `quarterdeck up` has a hub of its own"
        )
    inside = is_in_cluster()
    address = settings.hub_host or (_ALL_INTERFACES if inside else HOST)
    check_port(settings.hub_port, "--hub-port", host=address)
    bind = process.metrics_bind_address or (_METRICS_INSIDE if inside else "0")
    page = metrics_page(parse_bind(bind, 0, flag="--metrics-bind-address"), process)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            try:
                config = load_config(process.kubeconfig, context=process.context)
            except ClientError as error:
                raise StartError(str(error)) from error
            client = await stack.enter_async_context(Client(config, clock=clock))
            state = open_state(settings, None, clock=clock)
            stack.push_async_callback(state.aclose)
            history = open_history(settings, None, clock=clock)
            stack.push_async_callback(history.aclose)
            registry = Registry()
            identity = build_identity(settings, api=client.raw, clock=clock)
            server = build_hub(
                settings, state, history, identity=identity, clock=clock, registry=registry
            )
            tasks = await stack.enter_async_context(Supervisor("hub-api"))
            tasks.spawn(server.run(), name="hub-api")
            pages = await open_metrics(page, registry, client.raw, clock=clock, log=log)
            stack.push_async_callback(pages.close)
            pages.start(tasks)
            explain = explain_elsewhere(settings, config, clock=clock)
            dashboard = build_dashboard(
                server.handle, config, identity=identity, clock=clock, explain=explain
            )
            stack.push_async_callback(dashboard.aclose)
            web = http.Server(dashboard.handle, clock=clock)
            stack.push_async_callback(web.drain, DRAIN_S)
            tls = _open_certificate(settings, tasks, clock=clock, log=log)
            listener = await listen(web, settings.hub_port, "--hub-port", host=address, tls=tls)
        log.info("listening", url=listener.url, metrics=pages.metrics_url)
        await stop.wait()
        log.info("stopping")


def _open_certificate(
    settings: Settings, tasks: Supervisor, *, clock: Clock, log: "Logger"
) -> ssl.SSLContext | None:
    """The TLS of the hub, which follows changes of its files; None for plain HTTP."""
    if settings.hub_cert_path is None:
        return None
    from quarterdeck.runtime.endpoints.certificate import (
        CertificateError,
        CertificateFiles,
        PageCertificate,
    )

    files = CertificateFiles.within(settings.hub_cert_path)
    try:
        certificate = PageCertificate(files, clock=clock, log=log)
    except CertificateError as error:
        raise StartError(f"{error} (--hub-cert-path)") from error
    tasks.spawn(certificate.run(), name="hub-certificate")
    return certificate.context


async def open_metrics(
    page: "MetricsPage | None", registry: Registry, api: "Api", *, clock: Clock, log: "Logger"
) -> "Endpoints":
    """The metrics page, shown to callers that the API server vouches for; none if switched off."""
    from quarterdeck.runtime.endpoints.certificate import CertificateError
    from quarterdeck.runtime.endpoints.health import HealthPages
    from quarterdeck.runtime.endpoints.server import Endpoints

    pages = HealthPages(live={}, ready={}, journals=lambda: [], state=lambda: {})
    endpoints = Endpoints(health=None, metrics=page, pages=pages, registry=registry)
    try:
        await endpoints.open(api, clock=clock, rng=random.Random(), log=log)
    except CertificateError as error:
        raise StartError(f"{error} (--metrics-cert-path)") from error
    except OSError as error:
        raise StartError(f"cannot serve metrics: {error} (--metrics-bind-address)") from error
    return endpoints


def build_hub(
    settings: Settings,
    state: StateStore,
    history: History,
    *,
    identity: "Identity",
    clock: Clock,
    registry: Registry | None = None,
) -> "HubServer":
    """The hub API on a store, a history and what knows viewers."""
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
