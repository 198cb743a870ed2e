"""`quarterdeck collector`: a client of the cluster it runs on, a buffer, and the agent."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path

from quarterdeck.agents.collector.agent import CollectorAgent
from quarterdeck.agents.collector.buffer import DiskBuffer
from quarterdeck.agents.collector.settings import CollectorSettings, InvalidSetting, read_settings
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.app.signals import StopSignal
from quarterdeck.client.client import Client
from quarterdeck.client.config.locate import load_config
from quarterdeck.client.errors import ClientError
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger

_log = get_logger("agents.collector")


async def run_collector(
    environment: Mapping[str, str],
    *,
    kubeconfig: Path | None = None,
    context: str = "",
    print_line: Callable[[str], None],
) -> None:
    """Collect and push until a signal asks to stop.

    Raises:
        SettingError: if a variable is missing or cannot be used.
        StartError: if the cluster's credentials or the buffer cannot be used.
    """
    clock = SystemClock()
    try:
        settings = read_settings(environment)
    except InvalidSetting as error:
        raise SettingError(str(error)) from error
    try:
        config = load_config(kubeconfig, context=context)
        buffer = _open_buffer(settings)
    except ClientError as error:
        raise StartError(str(error)) from error
    if not settings.tls:
        _log.warning("INGESTER_TLS_ENABLED is false: the token and all data are sent unencrypted")
    async with StopSignal() as stop, Client(config, clock=clock) as client:
        agent = CollectorAgent(client, settings, buffer, clock=clock, random=random.Random())
        async with Supervisor("collector") as tasks:
            tasks.spawn(agent.run(), name="agent")
            print_line(
                f"collecting from {config.server} as {settings.cluster_name}, "
                f"pushing to {settings.ingester_address}"
            )
            await stop.wait(tasks)


def _open_buffer(settings: CollectorSettings) -> DiskBuffer:
    folder = settings.buffer_folder
    try:
        return DiskBuffer(
            folder, max_batches=settings.buffer_cycles, max_bytes=settings.buffer_bytes
        )
    except OSError as error:
        raise StartError(
            f"cannot use the buffer folder {folder}: {error.strerror or error}; choose another "
            "with BUFFER_DIR"
        ) from error
