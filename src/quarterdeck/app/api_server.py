"""The process of `quarterdeck server`: the embedded API server and a plain HTTP port."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from quarterdeck.app import embedded
from quarterdeck.app.identities import Identities
from quarterdeck.app.ports import HOST, check_port, listen
from quarterdeck.app.serving_certificate import ServingFiles
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.gc_tuning import resume_gc
from quarterdeck.server.options import ServerOptions


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `quarterdeck server`."""

    data_dir: Path | None = None
    """Folder of all data; None stores nothing."""
    port: int = 6443
    """HTTPS; 0 takes any free port."""
    http_port: int | None = None
    """Plain HTTP on loopback; None disables it."""
    kubeconfig: Path | None = None
    """Where the kubeconfig goes; by default beside the data."""
    options: ServerOptions = ServerOptions()
    identities: Identities = Identities()
    serving_files: ServingFiles | None = None
    """The serving certificate; without it one is created and renewed."""
    host: str = HOST
    """The address of the HTTPS port."""
    pki: Path | None = None
    """Folder of created certificates; by default beside the data."""
    encryption_config: Path | None = None
    """Keys that encrypt objects on the disk; without it they are stored plain."""
    is_durable: bool = True
    """Whether acknowledged writes survive a crash of the machine; off for tests."""
    accept_loss: bool = False
    """Whether to start although acknowledged writes are lost or damaged."""


async def serve(
    settings: ServeSettings, *, print_line: Callable[[str], None], started: float
) -> None:
    """Serve until a signal asks to stop; `started` is when the process began, for the log.

    Raises:
        StartError: if a port or the data cannot be used.
        Interrupted: if a signal came before it was ready.
    """
    clock = SystemClock()
    check_port(settings.port, "--port", host=settings.host)
    if settings.http_port is not None:
        check_port(settings.http_port, "--http-port")
    async with StopSignal() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            plan = embedded.Plan(
                data_dir=settings.data_dir,
                port=settings.port,
                kubeconfig=settings.kubeconfig,
                kubeconfig_flag="--write-kubeconfig",
                options=settings.options,
                identities=settings.identities,
                serving_files=settings.serving_files,
                host=settings.host,
                pki=settings.pki,
                is_durable=settings.is_durable,
                encryption_config=settings.encryption_config,
                accept_loss=settings.accept_loss,
            )
            server = await embedded.start(plan, stack, clock=clock)
            print_line(f"listening on {server.url}")
            if settings.http_port is not None:
                plain = await listen(server.server, settings.http_port, "--http-port")
                print_line(f"listening on http://{HOST}:{plain.port}")
        print_line(f"kubeconfig is {server.kubeconfig}")
        print_line(f"ready in {(clock.monotonic() - started) * 1000:.0f} ms")
        resume_gc()
        await stop.wait(server.tasks)
