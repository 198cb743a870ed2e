"""`quarterdeck hub`: the hub API in a process of its own, on the store that the operators write."""

import contextlib
import random
import ssl
from typing import TYPE_CHECKING

from quarterdeck.app.bind_address import build_metrics_page, parse_bind
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.dashboard import build_dashboard, explain_remotely
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.app.hub import build_hub
from quarterdeck.app.hub_identity import build_identity, check_identity_settings
from quarterdeck.app.hub_storage import open_history, open_state
from quarterdeck.app.ports import DRAIN_S, HOST, check_port, listen
from quarterdeck.app.settings import Settings as ProcessSettings
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.metrics import Registry
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger

if TYPE_CHECKING:
    from quarterdeck.client.config.cluster import ClusterConfig
    from quarterdeck.client.interfaces import Api
    from quarterdeck.runtime.endpoints.server import Endpoints, MetricsEndpoint
    from quarterdeck.runtime.observability.logging import Logger


_ALL_INTERFACES = "0.0.0.0"
_METRICS_INSIDE = ":8080"
"""The default address of metrics inside a cluster."""


async def serve_hub(process: ProcessSettings, settings: Settings) -> None:
    """Serve the hub API until a signal asks to stop.

    Raises:
        StartError: if the port, the store or the kubeconfig cannot be used.
        SettingError: if a setting is invalid.
        Interrupted: if a signal came before it was ready.
    """
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.locate import is_in_cluster

    clock, log = SystemClock(), get_logger("hub")
    check_identity_settings(settings)
    _check_store(settings)
    inside = is_in_cluster()
    address = settings.hub_host or (_ALL_INTERFACES if inside else HOST)
    check_port(settings.hub_port, "--hub-port", host=address)
    bind = process.metrics_bind_address or (_METRICS_INSIDE if inside else "0")
    page = build_metrics_page(parse_bind(bind, 0, flag="--metrics-bind-address"), process)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            config = _load_config(process)
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
            explain = explain_remotely(settings, config, clock=clock)
            dashboard = build_dashboard(
                server.handle, config, identity=identity, clock=clock, explain=explain
            )
            stack.push_async_callback(dashboard.aclose)
            web = http.Server(dashboard.handle, clock=clock)
            stack.push_async_callback(web.drain, DRAIN_S)
            tls = _open_certificate(settings, tasks, clock=clock, log=log)
            listener = await listen(web, settings.hub_port, "--hub-port", host=address, tls=tls)
        log.info("listening", url=listener.url, metrics=pages.metrics_url)
        await stop.wait(tasks)
        log.info("stopping")


def _check_store(settings: Settings) -> None:
    if not settings.redis_url and not settings.redis_host:
        raise SettingError(
            "quarterdeck hub reads the state that another process writes: set REDIS_URL or "
            "REDIS_HOST to the Redis of `quarterdeck run`; `quarterdeck up` has a hub of its own"
        )


def _load_config(process: ProcessSettings) -> "ClusterConfig":
    from quarterdeck.client.config.locate import load_config
    from quarterdeck.client.errors import ClientError

    try:
        return load_config(process.kubeconfig, context=process.context)
    except ClientError as error:
        raise StartError(str(error)) from error


def _open_certificate(
    settings: Settings, tasks: Supervisor, *, clock: Clock, log: "Logger"
) -> ssl.SSLContext | None:
    """The TLS certificate of the hub, reloaded when its files change; None for plain HTTP."""
    if settings.hub_cert_path is None:
        return None
    from quarterdeck.runtime.endpoints.certificate import (
        CertificateError,
        CertificateFiles,
        EndpointCertificate,
    )

    files = CertificateFiles.within(settings.hub_cert_path)
    try:
        certificate = EndpointCertificate(files, clock=clock, log=log)
    except CertificateError as error:
        raise StartError(f"{error} (--hub-cert-path)") from error
    tasks.spawn(certificate.run(), name="hub-certificate")
    return certificate.context


async def open_metrics(
    page: "MetricsEndpoint | None", registry: Registry, api: "Api", *, clock: Clock, log: "Logger"
) -> "Endpoints":
    """Serve metrics to callers that the API server authorizes, unless they are disabled."""
    from quarterdeck.runtime.endpoints.certificate import CertificateError
    from quarterdeck.runtime.endpoints.health import HealthEndpoints
    from quarterdeck.runtime.endpoints.server import Endpoints

    pages = HealthEndpoints(live={}, ready={}, journals=lambda: [], state=lambda: {})
    endpoints = Endpoints(health=None, metrics=page, pages=pages, registry=registry)
    try:
        await endpoints.open(api, clock=clock, rng=random.Random(), log=log)
    except CertificateError as error:
        raise StartError(f"{error} (--metrics-cert-path)") from error
    except OSError as error:
        raise StartError(f"cannot serve metrics: {error} (--metrics-bind-address)") from error
    return endpoints
