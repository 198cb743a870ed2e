"""Records what operators ask of the API server while the integration tests run.

`QUARTERDECK_RECORD_USES=FOLDER` switches it on: each test process adds a file to the folder, and
`python -m role_recorder FOLDER` (see `make record-roles`) makes `config/rbac/recorded_uses.yaml`
of them. `make verify` compares the roles with that table.

Only requests of tasks that a manager with the controllers of one of our operators started are
recorded, and only those to its own API server: tests and simulators act beside them.
"""

import atexit
import contextlib
import contextvars
import os
import sys
import weakref
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quarterdeck.app.parts import PARTS
from quarterdeck.client.client import Client
from quarterdeck.client.interfaces import Exchange
from quarterdeck.client.transport import Transport
from quarterdeck.codegen import recorded_uses
from quarterdeck.runtime import Manager
from quarterdeck.wire.path import ResourcePath

VARIABLE = "QUARTERDECK_RECORD_USES"
_acting: contextvars.ContextVar[tuple[str, str] | None] = contextvars.ContextVar(
    "acting", default=None
)
"""The operator whose task this is, and the host of its API server."""


class Recorder:
    """Notes what the tasks of operators request."""

    def __init__(self) -> None:
        self.uses: set[recorded_uses.RecordedUse] = set()

    def before(self, verb: str, path: ResourcePath) -> Sequence[tuple[str, str]]:
        """Nothing to add."""
        return ()

    def after(self, exchange: Exchange) -> None:
        """Note a request, if an operator made it."""
        acting, path = _acting.get(), exchange.path
        if acting is None or exchange.host != acting[1] or not path.resource:
            return
        resource = f"{path.resource}/{path.subresource}" if path.subresource else path.resource
        use = recorded_uses.RecordedUse(acting[0], path.group, resource, exchange.verb)
        self.uses.add(use)


def install(folder: Path) -> None:
    """Record from now on; written when the process ends."""
    recorder = Recorder()
    _observe_every_client(recorder)
    _mark_tasks_of_operators()
    atexit.register(_write, folder, recorder)


def _observe_every_client(recorder: Recorder) -> None:
    create = Transport.__init__

    def create_observed(self: Transport, *arguments: Any, **options: Any) -> None:
        create(self, *arguments, **options)
        self.observe(recorder)

    setattr(Transport, "__init__", create_observed)  # noqa: B010 - mypy knows the type


def _mark_tasks_of_operators() -> None:
    create, run = Manager.__init__, Manager.running
    hosts: weakref.WeakKeyDictionary[Manager, str] = weakref.WeakKeyDictionary()
    owners = {
        each.effective_name: part.name for part in PARTS for each in part.declare_controllers()
    }

    def create_known(self: Manager, client: object, *arguments: Any, **options: Any) -> None:
        if isinstance(client, Client):  # tests of faults hand in something else
            hosts[self] = urlsplit(client.config.server).netloc
        create(self, client, *arguments, **options)  # type: ignore[arg-type]

    @contextlib.asynccontextmanager
    async def run_marked(self: Manager) -> AsyncIterator[Manager]:
        names = {owners.get(each.effective_name, "") for each in self.controllers}
        is_ours = len(names) == 1 and names != {""} and self in hosts
        token = _acting.set((names.pop(), hosts[self]) if is_ours else None)
        running = run(self)
        try:
            entered = await running.__aenter__()
        finally:
            _acting.reset(token)
        try:
            yield entered
        except BaseException:
            if not await running.__aexit__(*sys.exc_info()):
                raise
        else:
            await running.__aexit__(None, None, None)

    setattr(Manager, "__init__", create_known)  # noqa: B010 - mypy knows the type
    setattr(Manager, "running", run_marked)  # noqa: B010 - mypy knows the type


def _write(folder: Path, recorder: Recorder) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = recorded_uses.format_table(recorder.uses)
    (folder / f"{os.getpid()}.yaml").write_text(text)


def main() -> None:
    """Make the table of what all processes recorded."""
    folder = Path(sys.argv[1])
    found = [recorded_uses.parse_table(each.read_text()) for each in folder.glob("*.yaml")]
    table = recorded_uses.format_table({use for uses in found for use in uses})
    Path(recorded_uses.PATH).write_text(table)


if __name__ == "__main__":
    main()
