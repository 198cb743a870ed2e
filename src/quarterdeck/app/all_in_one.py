"""`quarterdeck up`: API server, simulated workloads, every operator, in one process.

Read it from top to bottom: what is constructed, and in which order.
"""

import contextlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from quarterdeck.app import definitions, embedded
from quarterdeck.app.activity import ActivityPrinter
from quarterdeck.app.bind_address import build_metrics_page, parse_bind
from quarterdeck.app.cluster_factory import build_admin_config
from quarterdeck.app.console import Console
from quarterdeck.app.definition_cache import load_manifests
from quarterdeck.app.embedded import Embedded, Plan
from quarterdeck.app.host import TOKEN_FILE, Endpoint, Host
from quarterdeck.app.identities import Identities
from quarterdeck.app.operator_roles import OPERATORS, grant_roles, grant_simulators
from quarterdeck.app.parts import Part, choose, choose_service_name, list_kinds
from quarterdeck.app.ports import ListenPort, check_ports
from quarterdeck.app.resolution import list_fields
from quarterdeck.app.settings import Settings
from quarterdeck.app.signals import StopSignal
from quarterdeck.app.start_summary import print_summary
from quarterdeck.app.webhooks import build_embedded
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.gc_tuning import resume_gc
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.kit.redaction import Secret
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime import CertificateFiles
from quarterdeck.runtime.endpoints.server import BindAddress
from quarterdeck.runtime.manager.definitions import apply_manifests
from quarterdeck.runtime.manager.manager import Manager
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.options import ServerOptions

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
    pages = _Pages.parse(settings)
    if not settings.in_memory:
        embedded.check_unused(settings.data_dir)
    _check_ports(settings, chosen, pages)
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            process = await _start_process(settings, stack, clock)
            await _install_definitions(process, chosen)
            manager = _build_manager(process, chosen, pages)
            host = _build_host(process, manager, part_settings=part_settings, console=console)
            await _start_parts(host, process.server, chosen)
        server = process.server
        print_summary(host, server, chosen, console=console, took_s=clock.monotonic() - started)
        await _print_activity(server, chosen, stack, console=console, clock=clock)
        if settings.demo:
            samples = [sample for part in chosen for sample in part.demo_samples()]
            await definitions.apply(process.clients.admin.raw, samples)
        await stop.wait(server.tasks)
        console.print_line("stopping")


class _Pages(NamedTuple):
    """The addresses of the health and metrics pages; None if they are disabled."""

    health: BindAddress | None
    metrics: BindAddress | None

    @classmethod
    def parse(cls, settings: Settings) -> "_Pages":
        """Parse the addresses in the settings. Raises SettingError for an invalid one."""
        return cls(
            parse_bind(
                settings.health_bind_address, settings.health_port, flag="--health-bind-address"
            ),
            parse_bind(
                settings.metrics_bind_address, settings.metrics_port, flag="--metrics-bind-address"
            ),
        )


class _Tokens(NamedTuple):
    """The bearer tokens of this process; new at each start."""

    admin: str
    operators: str


class _Clients(NamedTuple):
    """Clients of the embedded server inside this process."""

    admin: Client
    operators: Client
    """A client with the roles of the operators and nothing else."""


class _Process(NamedTuple):
    """What runs before the first operator: the API server, and clients of it."""

    settings: Settings
    stack: contextlib.AsyncExitStack
    clock: Clock
    tokens: _Tokens
    server: Embedded
    clients: _Clients

    @property
    def serving_files(self) -> tuple[Path, Path]:
        """The serving certificate and its key."""
        authority = self.server.authority
        return authority.certificate("server"), authority.key("server")


async def _start_process(
    settings: Settings, stack: contextlib.AsyncExitStack, clock: Clock
) -> _Process:
    """Start the API server with new tokens, and connect to it."""
    tokens = _Tokens(secrets.token_urlsafe(32), secrets.token_urlsafe(32))
    server = await _start_server(settings, stack, clock, tokens=tokens)
    write_private_file(server.folder / TOKEN_FILE, tokens.admin.encode())
    clients = await _connect(server, tokens, stack, clock)
    return _Process(settings, stack, clock, tokens, server, clients)


async def _connect(
    server: Embedded, tokens: _Tokens, stack: contextlib.AsyncExitStack, clock: Clock
) -> _Clients:
    """Open the clients, without a socket between them and the server."""
    network = http.MemoryNetwork(clock=clock)
    url = network.serve(server.server, _MEMORY_HOST)
    configs = ClusterConfig(server=url), ClusterConfig(server=url, token=Secret(tokens.operators))
    admin, operators = [
        await stack.enter_async_context(Client(config, clock=clock, network=network))
        for config in configs
    ]
    return _Clients(admin, operators)


async def _install_definitions(process: _Process, parts: Sequence[Part]) -> None:
    """Apply the kinds of the operators, and grant the operators their roles."""
    admin = process.clients.admin
    manifests = load_manifests(list_kinds(parts), process.server.folder)
    await apply_manifests(admin.raw, manifests)
    await grant_roles(admin, parts)


def _build_manager(process: _Process, parts: Sequence[Part], pages: _Pages) -> Manager:
    """The manager of every operator, with the webhooks of all of them."""
    settings, server = process.settings, process.server
    return Manager(
        process.clients.operators,
        service_name=choose_service_name(parts),
        webhooks=build_embedded(
            settings,
            parts,
            serving=CertificateFiles(*process.serving_files),
            authority=server.authority.certificate("authority"),
        ),
        health=pages.health,
        # the API server's certificate: one CA for both
        metrics=build_metrics_page(pages.metrics, settings, own=server.certificate.context),
        graceful_shutdown_timeout_s=_GRACE_S,
        clock=process.clock,
        watch_loop=True,
    )


def _build_host(
    process: _Process,
    manager: Manager,
    *,
    part_settings: Sequence[msgspec.Struct],
    console: Console,
) -> Host:
    """Build the host that the operators are attached to."""
    server = process.server
    return Host(
        settings=process.settings,
        client=process.clients.operators,
        admin=process.clients.admin,
        manager=manager,
        clock=process.clock,
        stack=process.stack,
        api=server.api.handle,
        folder=server.folder,
        print_line=console.print_line,
        webhooks=manager.webhooks,
        part_settings=part_settings,
        local=build_admin_config("local", server),
        serving_files=process.serving_files,
        admin_token=Secret(process.tokens.admin),
    )


async def _start_parts(host: Host, server: Embedded, parts: Sequence[Part]) -> None:
    """Attach every operator and service, then start the manager."""
    host.endpoints.append(Endpoint("api", server.url, "Kubernetes API"))
    for part in parts:
        await part.attach(host)
    await grant_simulators(host.admin, parts, host.manager.controllers)
    await host.stack.enter_async_context(host.manager.running())
    resume_gc()


async def _start_server(
    settings: Settings,
    stack: contextlib.AsyncExitStack,
    clock: Clock,
    *,
    tokens: _Tokens,
) -> Embedded:
    """Start the API server with the tokens of this process."""
    return await embedded.start(
        Plan(
            data_dir=None if settings.in_memory else settings.data_dir,
            port=settings.port,
            kubeconfig=settings.kubeconfig,
            options=ServerOptions(
                simulate_workloads=not settings.controllers_without_kubelet,
                controllers_without_kubelet=settings.controllers_without_kubelet,
                has_system_objects=True,
            ),
            identities=Identities(
                tokens={tokens.admin: _ADMINISTRATOR, tokens.operators: OPERATORS}
            ),
        ),
        stack,
        clock=clock,
    )


def _check_ports(settings: Settings, parts: Sequence[Part], pages: _Pages) -> None:
    """Check the ports before anything is created."""
    ports = [ListenPort(settings.port, "--port")]
    ports += [
        ListenPort(getattr(settings, field.name) or 0, field.flag)
        for field in list_fields()
        if any(field.name in part.ports for part in parts)
    ]
    if pages.health is not None:
        ports.append(ListenPort(pages.health.port, "--health-port", pages.health.host))
    if pages.metrics is not None:
        ports.append(ListenPort(pages.metrics.port, "--metrics-port", pages.metrics.host))
    check_ports(ports)


async def _print_activity(
    server: Embedded,
    parts: Sequence[Part],
    stack: contextlib.AsyncExitStack,
    *,
    console: Console,
    clock: Clock,
) -> None:
    """Print the activity of the store from now on."""
    quiet = {name for part in parts for name in part.quiet_kinds}
    shown = [kind.KIND for kind in list_kinds(parts) if kind.KIND.kind not in quiet]
    kinds = {kind.gvr.group_resource: kind.kind for kind in shown}
    printer = ActivityPrinter(kinds=kinds, clock=clock, print_line=console.print_line)
    tasks = await stack.enter_async_context(Supervisor("activity"))
    tasks.spawn(printer.run(), name="activity-printer")
    server.api.core.store.subscribe(printer.on_writes)
