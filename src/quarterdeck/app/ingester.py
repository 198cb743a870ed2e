"""The ingester of this process: it listens once there is a ClusterConnection in push mode.

Until then gRPC is not loaded, which saves start time, memory and the port. A failure to listen is
logged, shown in the condition CollectorReady and retried; meanwhile the hub reads those clusters
itself.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.host import Host
from quarterdeck.hubstate.lifetimes import Lifetimes
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.clusters import CollectorOptions, Hub
from quarterdeck.runtime.observability.logging import get_logger

if TYPE_CHECKING:
    from quarterdeck.services.ingester.options import IngesterOptions
    from quarterdeck.services.ingester.server import Ingester

EMBEDDED_IMAGE = "quarterdeck"
"""Image of collectors in `up`, where pods are simulated."""
_RETRY_S = 30.0
_LOOPBACK = "127.0.0.1"
_ALL_INTERFACES = "0.0.0.0"
_ADVICE = (
    "check --ingester-port, INGESTER_TLS_CERT and INGESTER_TLS_KEY, "
    "or set INGESTER_TLS_ENABLED=false"
)


class IngesterAddress:
    """The port of the ingester, once it listens."""

    def __init__(self) -> None:
        self.port = 0
        self.listening = asyncio.Event()


def add_ingester(
    host: Host, settings: Settings, hub: Hub, *, state: StateStore, history: History
) -> IngesterAddress:
    """Serve collectors as long as the manager runs.

    Replicas that share the clusters all serve: what a collector needs is in the store. Otherwise
    the leader serves.
    """
    address = IngesterAddress()

    async def run() -> None:
        await hub.push_wanted.wait()
        await asyncio.to_thread(_load)
        from quarterdeck.services.ingester.metrics import IngesterMetrics
        from quarterdeck.services.ingester.server import Ingester

        ingester = Ingester(
            state,
            history,
            options=build_options(
                settings, port=host.settings.ingester_port, serving_files=host.serving_files
            ),
            clock=host.clock,
            metrics=IngesterMetrics(host.manager.metrics.registry),
        )
        await serve_ingester(ingester, hub, address, clock=host.clock)

    if settings.ingester_external:
        if not (settings.redis_url or settings.redis_host):
            hub.ingester_problem = "an external ingester requires a shared Redis; set REDIS_URL"
        return address
    if settings.ingester_enabled:
        host.manager.add_runnable("ingester", run, needs_leader_election=not hub.is_shared)
    else:
        hub.ingester_problem = "the ingester is disabled; set INGESTER_ENABLED=true"
    return address


async def serve_ingester(
    ingester: "Ingester", hub: Hub, address: IngesterAddress, *, clock: Clock
) -> None:
    """Listen; try again while a file is missing or the port is taken."""
    from quarterdeck.services.ingester.server import ListenFailed

    log = get_logger("ingester")
    while True:
        try:
            async with ingester.running() as tasks:
                hub.ingester_problem = ""
                address.port = ingester.port
                address.listening.set()
                log.info("serving collectors", port=ingester.port)
                await tasks.wait_failed()
        except ListenFailed as error:
            problem = f"{error}; {_ADVICE}"
            if problem != hub.ingester_problem:
                log.error("collectors cannot connect", reason=problem)
            hub.ingester_problem = problem
        await clock.sleep(_RETRY_S)


def build_options(
    settings: Settings, *, port: int, serving_files: tuple[Path, Path] | None = None
) -> "IngesterOptions":
    """Build the options of the ingester; in `up` it serves with the API server's certificate."""
    from quarterdeck.client.config.locate import is_in_cluster
    from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles

    certificate, key = Path(settings.ingester_tls_cert), Path(settings.ingester_tls_key)
    if serving_files is not None:
        certificate, key = serving_files
    client_authority = settings.ingester_tls_client_ca
    tls = TlsFiles(
        certificate=certificate,
        key=key,
        client_authority=Path(client_authority) if client_authority else None,
    )
    return IngesterOptions(
        host=_ALL_INTERFACES if is_in_cluster() else _LOOPBACK,
        port=port,
        tls=tls if settings.ingester_tls_enabled else None,
        interval_s=settings.reconciliation_interval,
        scan_interval_s=settings.operator_scan_interval,
        lifetimes=Lifetimes(cache_s=settings.cache_ttl, retention_s=settings.metrics_retention),
    )


def build_collector_options(host: Host, settings: Settings) -> CollectorOptions:
    """How collectors are deployed; in `up` they trust the embedded server's authority."""
    image, authority, name = settings.collector_image, "", ""
    authority_map: Key | None = None
    if host.serving_files is not None:
        image = image or EMBEDDED_IMAGE
        authority = find_authority(host.serving_files).read_text(encoding="ascii")
    elif not settings.ingester_tls_use_system_ca:
        authority_map = Key(
            settings.collector_ca_namespace or _find_namespace(host),
            settings.collector_ca_configmap,
        )
        name = f"{settings.ingester_service_name}.{_find_namespace(host)}.svc"
    return CollectorOptions(
        image=image,
        tls=settings.ingester_tls_enabled,
        server_name=name,
        authority=authority,
        authority_map=authority_map,
        authority_key=settings.collector_ca_key,
        client_secret=settings.collector_tls_secret if settings.ingester_tls_client_ca else "",
    )


def find_authority(serving_files: tuple[Path, Path]) -> Path:
    """The authority of the embedded API server's certificate."""
    return serving_files[0].with_name("authority.crt")


def _find_namespace(host: Host) -> str:
    """The hub's own namespace."""
    return host.settings.namespace.partition(",")[0] or host.client.namespace


def _load() -> None:
    """Import gRPC; called in a thread, because it takes a tenth of a second."""
    from quarterdeck.services.ingester.server import load_grpc

    load_grpc()
