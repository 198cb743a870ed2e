"""`quarterdeck run`: the same operators against an existing cluster."""

import contextlib
from collections.abc import Sequence
from functools import partial

import msgspec

from quarterdeck.app.bind_address import build_metrics_page, parse_bind
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.app.host import Host
from quarterdeck.app.live_settings import watch_settings
from quarterdeck.app.parts import choose, choose_service_name
from quarterdeck.app.ports import ListenPort, check_ports
from quarterdeck.app.settings import Settings
from quarterdeck.app.signals import StopSignal
from quarterdeck.app.webhooks import build_in_cluster
from quarterdeck.client.client import Client
from quarterdeck.client.config.locate import is_in_cluster, load_config
from quarterdeck.client.errors import ClientError
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.gc_tuning import resume_gc, tune_gc
from quarterdeck.meta import names
from quarterdeck.runtime.endpoints.certificate import CertificateError
from quarterdeck.runtime.endpoints.server import BindAddress
from quarterdeck.runtime.manager.manager import LeaderElection, Manager
from quarterdeck.runtime.observability.logging import Logger, get_logger
from quarterdeck.wire.status import ApiError


async def run(settings: Settings, *, part_settings: Sequence[msgspec.Struct] = ()) -> None:
    """Run the operators until a signal.

    Raises:
        StartError: if a port cannot be bound or the cluster cannot be reached.
        SettingError: if a setting is invalid.
        Interrupted: if a signal came before everything was ready.
        LostLeadership: if the lease was lost; the process must end.
    """
    clock, log = SystemClock(), get_logger("run")
    chosen = choose(settings.operators)
    inside = is_in_cluster()
    health, metrics = _parse_addresses(settings, all_interfaces=inside)
    page = build_metrics_page(metrics, settings)
    namespaces = parse_namespaces(settings)
    _check_ports(settings, health, metrics)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            client = await stack.enter_async_context(_create_client(settings, clock))
            await _check_cluster(client, log)
            webhooks = build_in_cluster(settings, chosen) if inside else None
            manager = Manager(
                client,
                service_name=choose_service_name(chosen),
                webhooks=webhooks,
                namespaces=namespaces,
                election=_build_election(settings, client),
                health=health,
                metrics=page,
                clock=clock,
                watch_loop=True,
            )
            host = Host(
                settings=settings,
                client=client,
                manager=manager,
                clock=clock,
                stack=stack,
                webhooks=webhooks,
                part_settings=part_settings,
            )
            for part in chosen:
                await part.attach(host)
            watch_settings(manager, settings, log=log)
            resume_gc()
            try:
                await stack.enter_async_context(manager.running())
            except CertificateError as error:
                raise StartError(_explain_certificate(error, settings)) from error
            tune_gc()
        await stop.wait()
        log.info("stopping")


def _explain_certificate(error: CertificateError, settings: Settings) -> str:
    """The message of an error; it names the flag that set the path of the certificate, if any."""
    given = {
        "--metrics-cert-path": settings.metrics_cert_path,
        "--webhook-cert-path": settings.webhook_cert_path,
    }
    for flag, folder in given.items():
        if folder is not None and str(folder) in str(error):
            return f"{error} ({flag})"
    return str(error)


def _parse_addresses(
    settings: Settings, *, all_interfaces: bool
) -> tuple[BindAddress | None, BindAddress | None]:
    """The addresses of the health and metrics pages."""
    parse = partial(parse_bind, all_interfaces=all_interfaces)
    return (
        parse(settings.health_bind_address, settings.health_port, flag="--health-bind-address"),
        parse(settings.metrics_bind_address, settings.metrics_port, flag="--metrics-bind-address"),
    )


def parse_namespaces(settings: Settings) -> tuple[str, ...]:
    """The namespaces to watch; none means all.

    Raises:
        SettingError: for a name that no namespace can have.
    """
    found = tuple(name.strip() for name in settings.namespace.split(",") if name.strip())
    for name in found:
        if problems := names.check_dns1123_label(name):
            raise SettingError(f"invalid --namespace {name!r}: {problems[0]}")
    return found


def _create_client(settings: Settings, clock: Clock) -> Client:
    try:
        config = load_config(settings.kubeconfig, context=settings.context)
    except ClientError as error:
        raise StartError(str(error)) from error
    return Client(config, clock=clock)


async def _check_cluster(client: Client, log: Logger) -> None:
    """Check that the cluster can be used; otherwise fail at once with a one-line message."""
    server = client.config.server
    try:
        version = str((await client.get_server_version()).get("gitVersion", "unknown"))
    except ClientError as error:
        raise StartError(
            f"cannot reach the API server {server}: {error}; check --kubeconfig and --context"
        ) from error
    except ApiError as error:
        raise StartError(
            f"the API server {server} refused the request: {error.message}; check the credentials"
        ) from error
    log.info("connected", server=server, version=version)


def _build_election(settings: Settings, client: Client) -> LeaderElection | None:
    if not settings.leader_elect:
        return None
    return LeaderElection(
        name=settings.lease_name,
        namespace=settings.lease_namespace or client.namespace,
        identity=settings.identity,
    )


def _check_ports(
    settings: Settings, health: BindAddress | None, metrics: BindAddress | None
) -> None:
    ports = []
    if settings.http_port is not None:
        ports.append(ListenPort(settings.http_port, "--http-port"))
    if health is not None:
        ports.append(ListenPort(health.port, "--health-port", health.host))
    if metrics is not None:
        ports.append(ListenPort(metrics.port, "--metrics-port", metrics.host))
    check_ports(ports)
