"""The process behind `quarterdeck server`: the embedded server, a plain port, and a clean end."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from quarterdeck.app import embedded
from quarterdeck.app.embedded import HOST, check_port
from quarterdeck.app.errors import StartError
from quarterdeck.app.signals import Interrupted, Stop
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.server.options import ServerOptions

__all__ = ["Interrupted", "Say", "ServeSettings", "StartError", "serve"]


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What `quarterdeck server` is told."""

    data_dir: Path | None = None
    """Where everything is kept; None keeps nothing."""
    port: int = 6443
    """HTTPS; 0 takes any free port."""
    http_port: int | None = None
    """Plain HTTP on loopback; None listens on none."""
    kubeconfig: Path | None = None
    """Where the kubeconfig goes; by default beside the data."""
    options: ServerOptions = ServerOptions()


Say = Callable[[str], None]
"""Tells the user a line."""


async def serve(settings: ServeSettings, *, say: Say, started: float) -> None:
    """Serve until a signal asks to stop; `started` is when the process began, for the log.

    Raises:
        StartError: if a port is taken or the data cannot be used; nothing was touched then.
        Interrupted: if a signal came before it was ready.
    """
    clock = SystemClock()
    check_port(settings.port, "--port")
    if settings.http_port is not None:
        check_port(settings.http_port, "--http-port")
    async with Stop() as stop, contextlib.AsyncExitStack() as stack:
        with stop.starting():
            plan = embedded.Plan(
                data_dir=settings.data_dir,
                port=settings.port,
                kubeconfig=settings.kubeconfig,
                kubeconfig_flag="--write-kubeconfig",
                options=settings.options,
            )
            server = await embedded.start(plan, stack, clock=clock)
            say(f"listening on {server.url}")
            if settings.http_port is not None:
                plain = await embedded.listen(server.server, settings.http_port, "--http-port")
                say(f"listening on http://{HOST}:{plain.port}")
        say(f"kubeconfig is {server.kubeconfig}")
        say(f"ready in {(clock.monotonic() - started) * 1000:.0f} ms")
        tune_gc()
        await stop.wait()
