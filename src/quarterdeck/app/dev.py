"""`quarterdeck dev`: an API server that stays, and a user's operator that restarts on every change.

The operator runs in a process of its own, so a restart is a real one: nothing of the old code or
its caches survives, and what it did is still in the API server.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from quarterdeck.app.cluster import Cluster
from quarterdeck.app.project import load_project
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.free_port import find_free_port
from quarterdeck.server.options import ServerOptions

_CHECK_INTERVAL_S = 0.5
"""Seconds between two checks of the source files."""
_STOP_S = 20.0


class DevSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `quarterdeck dev`."""

    target: str
    """A module or a file."""
    port: int = 0
    health_port: int = 8081
    kubeconfig: Path = Path(".quarterdeck/dev.kubeconfig")


async def serve(
    settings: DevSettings,
    *,
    print_line: Callable[[str], None],
    stop: StopSignal,
    clock: Clock | None = None,
) -> None:
    """Run until `stop`; a target that cannot be imported fails before anything starts.

    Raises:
        SettingError: if the target cannot be imported.
    """
    from quarterdeck.app.kubeconfig import write_plain

    if settings.health_port == 0:  # chosen once, so that the address survives restarts
        settings = msgspec.structs.replace(settings, health_port=find_free_port())
    project = load_project(settings.target)
    options = ServerOptions(simulate_workloads=True)
    async with Cluster(port=settings.port, options=options) as cluster:
        settings.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        write_plain(settings.kubeconfig, cluster.url)
        kinds = ", ".join(sorted({kind.KIND.kind for kind in project.kinds})) or "no kinds"
        print_line(f"API server on {cluster.url}; {settings.target} declares {kinds}")
        print_line(f"  export KUBECONFIG={settings.kubeconfig.resolve()}")
        print_line(f"  quarterdeck why KIND NAME --health http://127.0.0.1:{settings.health_port}")
        await _Runner(settings, print_line, clock or SystemClock()).run(stop)


class _Runner:
    """Keeps the operator running, and restarts it when a file changes."""

    def __init__(
        self, settings: DevSettings, print_line: Callable[[str], None], clock: Clock
    ) -> None:
        self._settings = settings
        self._print = print_line
        self._clock = clock

    async def run(self, stop: StopSignal) -> None:
        stopping = asyncio.ensure_future(stop.wait())
        try:
            while not stopping.done():
                seen = scan_sources(self._settings.target)
                process = await self._start()
                ended = asyncio.ensure_future(process.wait())
                changed = asyncio.ensure_future(self._wait_for_change(seen))
                await asyncio.wait({stopping, ended, changed}, return_when="FIRST_COMPLETED")
                if ended.done() and not stopping.done() and not changed.done():
                    self._print(
                        f"the operator ended with code {process.returncode}; "
                        "it starts again when a file changes"
                    )
                    await asyncio.wait({stopping, changed}, return_when="FIRST_COMPLETED")
                changed.cancel()
                await self._end(process)
                if not stopping.done():
                    self._print("a file changed: starting the operator again")
        finally:
            stopping.cancel()

    async def _start(self) -> asyncio.subprocess.Process:
        settings = self._settings
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "quarterdeck.app.dev_operator"),
            *(settings.target, str(settings.health_port)),
            env={
                "LOG_FORMAT": "console",
                **os.environ,
                "KUBECONFIG": str(settings.kubeconfig.resolve()),
            },
        )

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), _STOP_S)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _wait_for_change(self, seen: dict[Path, int]) -> None:
        while scan_sources(self._settings.target) == seen:
            await self._clock.sleep(_CHECK_INTERVAL_S)


def scan_sources(target: str) -> dict[Path, int]:
    """The Python files beside the target, with the times they were written.

    Hidden folders, virtual environments and packages of Node have thousands of files that are not
    the user's: to look at them would stop the API server, twice a second.
    """
    path = Path(target)
    is_file = path.suffix == ".py" or "/" in target
    folder = path.parent if is_file else Path(target.partition(".")[0])
    if not folder.is_dir():
        folder = Path()
    found = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not _is_foreign(Path(parent, each))]
        for each in (Path(parent, name) for name in names if name.endswith(".py")):
            try:
                found[each] = each.stat().st_mtime_ns
            except OSError:  # an editor replaces files
                continue
    return found


def _is_foreign(folder: Path) -> bool:
    is_environment = os.path.exists(folder / "pyvenv.cfg")
    return is_environment or folder.name.startswith(".") or folder.name == "node_modules"
