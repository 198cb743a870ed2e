"""The operator's process of `quarterdeck dev`: definitions are applied, controllers run."""

import asyncio
import sys

from quarterdeck.app import definitions
from quarterdeck.app.errors import SettingError
from quarterdeck.app.project import load_project
from quarterdeck.client import Client, load_config
from quarterdeck.runtime import BindAddress, Manager
from quarterdeck.runtime.observability import logging


async def run(target: str, health_port: int) -> None:
    """Run what a module declares, until a signal."""
    project = load_project(target)
    logging.configure()
    async with Client(load_config()) as client:
        await definitions.install(client.raw, project.kinds)
        manager = Manager(
            client,
            name=project.name,
            health=BindAddress("127.0.0.1", health_port),
            webhooks=project.webhooks,
            watch_loop=True,
        )
        for controller in project.controllers:
            manager.add(controller)
        await manager.run()


def main() -> int:
    """Run the operator; a failed import prints one line, as the next change may fix it."""
    try:
        asyncio.run(run(sys.argv[1], int(sys.argv[2])))
    except SettingError as error:
        sys.stderr.write(f"quarterdeck dev: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"quarterdeck dev: cannot listen on the health port: {error.strerror}; ")
        sys.stderr.write("choose another with --health-port\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
