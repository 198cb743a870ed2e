"""`quarterdeck up`: API server, simulated workloads, every operator, in one process.

Read it from top to bottom: what is constructed, and in which order.
"""

import contextlib
import gc
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

import quarterdeck
from quarterdeck.app import definitions, embedded
from quarterdeck.app.activity import ActivityPrinter
from quarterdeck.app.bind_address import metrics_page, parse_bind
from quarterdeck.app.cluster_factory import build_admin_config
from quarterdeck.app.console import Console, Started, find_program
from quarterdeck.app.definition_cache import load_manifests
from quarterdeck.app.embedded import Embedded, Plan
from quarterdeck.app.host import Endpoint, Host
from quarterdeck.app.identities import Identities
from quarterdeck.app.operator_roles import OPERATORS, grant_roles, grant_simulators
from quarterdeck.app.parts import Part, choose, list_kinds, service_name_of
from quarterdeck.app.ports import ListenPort, check_ports
from quarterdeck.app.resolution import list_fields
from quarterdeck.app.settings import Settings
from quarterdeck.app.signals import StopSignal
from quarterdeck.app.webhooks import build_embedded
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime import CertificateFiles
from quarterdeck.runtime.endpoints.server import BindAddress
from quarterdeck.runtime.manager.definitions import apply_manifests
from quarterdeck.runtime.manager.manager import Manager
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.options import ServerOptions

TOKEN_FILE = "token"
_MEMORY_HOST = "localhost"
_GRACE_S = 5.0
_ADMINISTRATOR = User(name="kubernetes-admin", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))


async def up(
    settings: Settings,
    *,
    part_settings: Sequence[msgspec.Struct] = (),
    console: Console,
    started: float,
) -> None:
    """Run everything until a signal; `started` is when the process began.

    Raises:
        StartError: if something cannot start; everything started before is stopped.
        SettingError: if a setting is invalid.
        Interrupted: if a signal came before everything was ready.
    """
    clock = SystemClock()
    chosen = choose(settings.operators)
    health = parse_bind(settings.health_bind_address, settings.health_port, flag="--health-port")
    metrics = parse_bind(
        settings.metrics_bind_address, settings.metrics_port, flag="--metrics-port"
    )
    _check_ports(settings, chosen, health, metrics)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            token, admin_token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
            tokens = {admin_token: _ADMINISTRATOR, token: OPERATORS}
            server = await _start_server(settings, stack, clock, tokens=tokens)
            write_private_file(server.folder / TOKEN_FILE, admin_token.encode())
            network = http.MemoryNetwork(clock=clock)
            url = network.serve(server.server, _MEMORY_HOST)
            admin = await stack.enter_async_context(
                Client(ClusterConfig(server=url), clock=clock, network=network)
            )
            manifests = load_manifests(list_kinds(chosen), server.folder)
            await apply_manifests(admin.raw, manifests)
            await grant_roles(admin, chosen)
            config = ClusterConfig(server=url, token=Secret(token))
            client = await stack.enter_async_context(Client(config, clock=clock, network=network))
            webhooks = build_embedded(
                settings,
                chosen,
                serving=CertificateFiles(
                    server.authority.certificate("server"), server.authority.key("server")
                ),
                authority=server.authority.certificate("authority"),
            )
            manager = Manager(
                client,
                service_name=service_name_of(chosen),
                webhooks=webhooks,
                health=health,
                # the API server's certificate: whoever trusts one trusts both
                metrics=metrics_page(metrics, settings, own=server.certificate.context),
                grace_s=_GRACE_S,
                clock=clock,
                watch_loop=True,
            )
            host = Host(
                settings=settings,
                client=client,
                admin=admin,
                manager=manager,
                clock=clock,
                stack=stack,
                api=server.api.handle,
                folder=server.folder,
                print_line=console.print_line,
                webhooks=webhooks,
                part_settings=part_settings,
                local=build_admin_config("local", server),
                serving_files=(
                    server.authority.certificate("server"),
                    server.authority.key("server"),
                ),
                admin_token=Secret(admin_token),
            )
            host.endpoints.append(Endpoint("api", server.url, "Kubernetes API"))
            for part in chosen:
                await part.attach(host)
            await grant_simulators(admin, chosen, manager.controllers)
            await stack.enter_async_context(manager.running())
            tune_gc()
            gc.enable()
        _print_started(host, server, chosen, console=console, took_s=clock.monotonic() - started)
        await _print_activity(server, chosen, stack, console=console, clock=clock)
        if settings.demo:
            await definitions.apply(admin.raw, [s for part in chosen for s in part.demo_samples()])
        await stop.wait()
        console.print_line("stopping")


async def _start_server(
    settings: Settings,
    stack: contextlib.AsyncExitStack,
    clock: Clock,
    *,
    tokens: Mapping[str, User],
) -> Embedded:
    """Start the API server with the tokens of this process."""
    return await embedded.start(
        Plan(
            data_dir=None if settings.in_memory else settings.data_dir,
            port=settings.port,
            kubeconfig=settings.kubeconfig,
            options=ServerOptions(simulate_workloads=True, has_system_objects=True),
            identities=Identities(tokens=tokens),
        ),
        stack,
        clock=clock,
    )


def _check_ports(
    settings: Settings,
    parts: Sequence[Part],
    health: BindAddress | None,
    metrics: BindAddress | None,
) -> None:
    """Fail before anything is created."""
    ports = [ListenPort(settings.port, "--port")]
    ports += [
        ListenPort(getattr(settings, field.name) or 0, field.flag)
        for field in list_fields()
        if any(field.name in part.ports for part in parts)
    ]
    if health is not None:
        ports.append(ListenPort(health.port, "--health-port", health.host))
    if metrics is not None:
        ports.append(ListenPort(metrics.port, "--metrics-port", metrics.host))
    check_ports(ports)


def _print_started(
    host: Host, server: Embedded, parts: Sequence[Part], *, console: Console, took_s: float
) -> None:
    manager, settings = host.manager, host.settings
    endpoints = list(host.endpoints)
    if manager.health_url:
        endpoints.append(
            Endpoint("health", manager.health_url, "health, and /explain for `quarterdeck why`")
        )
    if manager.metrics_url:
        endpoints.append(Endpoint("metrics", manager.metrics_url, "metrics, with a bearer token"))
    data = "in memory, nothing is stored" if settings.in_memory else str(settings.data_dir)
    facade = next((each.url for each in endpoints if each.name == "applications"), "")
    command = find_program(sys.argv[0], folder=Path.cwd(), home=Path.home())
    console.print_started(
        Started(
            version=quarterdeck.__version__,
            took_s=took_s,
            endpoints=endpoints,
            operators=[part.name for part in parts],
            kubeconfig=server.kubeconfig.resolve(),
            data=data,
            commands=[
                # --demo has applied them
                *([] if settings.demo else [f"{command} manifests --samples | kubectl apply -f -"]),
                _suggest_look(parts),
                *([f"curl -N {facade}/watch"] if facade else ["kubectl get events -w"]),
            ],
        )
    )


def _suggest_look(parts: Sequence[Part]) -> str:
    """A command that shows what the operators that run work on."""
    names = {part.name for part in parts}
    if "applications" not in names and "machines" in names:
        return "kubectl get hyperfleet"
    return "kubectl get applications,deployments,pods"


async def _print_activity(
    server: Embedded,
    parts: Sequence[Part],
    stack: contextlib.AsyncExitStack,
    *,
    console: Console,
    clock: Clock,
) -> None:
    """Print what happens from now on."""
    quiet = {name for part in parts for name in part.quiet_kinds}
    shown = [kind.KIND for kind in list_kinds(parts) if kind.KIND.kind not in quiet]
    kinds = {kind.gvr.group_resource: kind.kind for kind in shown}
    printer = ActivityPrinter(kinds=kinds, clock=clock, print_line=console.print_line)
    tasks = await stack.enter_async_context(Supervisor("activity"))
    tasks.spawn(printer.run(), name="activity-printer")
    server.api.core.store.subscribe(printer.on_writes)
