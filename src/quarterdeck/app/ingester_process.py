"""`quarterdeck ingester`: serves collectors in a separate process.

Its only permission in Kubernetes is to check who reads its metrics: tokens, checkpoints, leases and
MetricSources are in the Redis that the operators use.
"""

import contextlib

from quarterdeck.app.bind_address import build_metrics_page, parse_bind
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.app.hub_process import open_metrics
from quarterdeck.app.hub_storage import open_history, open_state
from quarterdeck.app.ingester import build_options
from quarterdeck.app.settings import Settings as ProcessSettings
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.malloc import limit_arenas
from quarterdeck.kit.metrics import Registry
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger

_METRICS_INSIDE = ":8080"
"""The default address of metrics inside a cluster."""


async def serve_ingester_alone(process: ProcessSettings, settings: Settings) -> None:
    """Serve collectors until a signal asks to stop.

    Raises:
        StartError: if the port, a TLS file, the store or the kubeconfig cannot be used.
        SettingError: if a setting is invalid.
        Interrupted: if a signal came before it was ready.
    """
    from quarterdeck.services.ingester.metrics import IngesterMetrics
    from quarterdeck.services.ingester.server import Ingester, ListenFailed

    if not settings.redis_url and not settings.redis_host:
        raise SettingError(
            "quarterdeck ingester writes the state that other processes read: set REDIS_URL or "
            "REDIS_HOST to the Redis of `quarterdeck run`"
        )
    limit_arenas(1)  # gRPC has many threads, and collectors that seldom send
    clock, log, registry = SystemClock(), get_logger("ingester"), Registry()
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            state = open_state(settings, None, clock=clock)
            stack.push_async_callback(state.aclose)
            history = open_history(settings, None, clock=clock)
            stack.push_async_callback(history.aclose)
            ingester = Ingester(
                state,
                history,
                options=build_options(settings, port=process.ingester_port),
                clock=clock,
                metrics=IngesterMetrics(registry),
            )
            parts = await _serve_metrics(process, registry, stack, clock=clock)
            try:
                parts.append(await stack.enter_async_context(ingester.running()))
            except ListenFailed as error:
                raise StartError(f"{error} (--ingester-port, --ingester-tls-cert)") from error
        log.info("serving collectors", port=ingester.port)
        await stop.wait(*parts)
        log.info("stopping")


async def _serve_metrics(
    process: ProcessSettings,
    registry: Registry,
    stack: contextlib.AsyncExitStack,
    *,
    clock: Clock,
) -> list[Supervisor]:
    """Serve metrics to callers that the API server authorizes; nothing if they are disabled."""
    from quarterdeck.client.client import Client
    from quarterdeck.client.config.locate import is_in_cluster, load_config
    from quarterdeck.client.errors import ClientError

    bind = process.metrics_bind_address or (_METRICS_INSIDE if is_in_cluster() else "0")
    page = build_metrics_page(parse_bind(bind, 0, flag="--metrics-bind-address"), process)
    if page is None:
        return []
    try:
        config = load_config(process.kubeconfig, context=process.context)
    except ClientError as error:
        raise StartError(str(error)) from error
    client = await stack.enter_async_context(Client(config, clock=clock))
    log = get_logger("ingester")
    pages = await open_metrics(page, registry, client.raw, clock=clock, log=log)
    stack.push_async_callback(pages.close)
    tasks = await stack.enter_async_context(Supervisor("ingester-metrics"))
    pages.start(tasks)
    return [tasks]
