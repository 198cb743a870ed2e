"""The pytest plugin that `pip install quarterdeck` registers.

Fixtures: `cluster` (an API server of this test's own), `cluster_faults` (what goes wrong at it),
`kubeconfig` (a file for it), `namespace` (a fresh one), `client` (a typed client, closed when the
test ends). A failed test shows the warnings and errors of its operators, with the cause of every
reconcile that failed. Tests may be `async def`; where no other plugin runs coroutines, this one
does.
"""

import asyncio
import functools
import inspect
import itertools
import logging
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quarterdeck.testing import plain_imports

if TYPE_CHECKING:
    from quarterdeck.client import Client
    from quarterdeck.server.options import ServerOptions
    from quarterdeck.testing.background import BackgroundCluster
    from quarterdeck.testing.server_faults import ServerFaults

_numbers = itertools.count(1)
_lines = pytest.StashKey[list[str]]()
_MAX_LINES = 50


@pytest.fixture
def cluster_faults() -> "ServerFaults":
    """The fault rules of `cluster`: none, until the test adds some."""
    from quarterdeck.testing.server_faults import ServerFaults

    return ServerFaults()


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest, cluster_faults: "ServerFaults"
) -> "Iterator[BackgroundCluster]":
    """An embedded API server with `url` and `kubeconfig`; nothing is shared between tests.

    `@pytest.mark.cluster(simulate_workloads=True)` on a test, a class or a module gives options.
    """
    from quarterdeck.testing.background import BackgroundCluster

    with BackgroundCluster(faults=cluster_faults, options=_read_options(request)) as running:
        yield running


def _read_options(request: pytest.FixtureRequest) -> "ServerOptions | None":
    """The options of the markers `cluster`; the nearest to the test wins."""
    from quarterdeck.server.options import ServerOptions

    given: dict[str, Any] = {}
    for marker in reversed([*request.node.iter_markers("cluster")]):
        given |= marker.kwargs
    known = ServerOptions.__struct_fields__
    for name in given:
        if name not in known:
            raise pytest.UsageError(
                f"unknown option {name!r} of pytest.mark.cluster; options: {', '.join(known)}"
            )
    return ServerOptions(**given) if given else None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Keep pytest from rewriting this package, before a conftest imports more of it."""
    plain_imports.install()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "cluster(**options): options of the API server that the fixture `cluster` starts"
    )


@pytest.fixture
def kubeconfig(cluster: "BackgroundCluster") -> Path:
    """The path of a kubeconfig for `cluster`."""
    return cluster.kubeconfig


@pytest.fixture
def client(cluster: "BackgroundCluster") -> "Client":
    """A typed client of `cluster`, for `async def` tests."""
    from quarterdeck.client import Client, load_config

    return Client(load_config(cluster.kubeconfig))


@pytest.fixture
def namespace(cluster: "BackgroundCluster") -> str:
    """The name of a namespace made for this test."""
    import json
    import urllib.request

    name = f"test-{next(_numbers)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    request = urllib.request.Request(
        f"{cluster.url}/api/v1/namespaces",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never a proxy
    with direct.open(request) as answer:
        answer.read()
    return name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Close the `client` of a test on the event loop it was used on."""
    for item in items:
        if isinstance(item, pytest.Function) and _uses_plugin_client(item):
            item.obj = _close_client_after(item)


def _uses_plugin_client(item: pytest.Function) -> bool:
    """Whether an `async def` test uses this plugin's `client`, not one of the same name."""
    if not inspect.iscoroutinefunction(item.obj):
        return False
    definitions = item._fixtureinfo.name2fixturedefs.get("client", ())
    return bool(definitions) and inspect.unwrap(definitions[-1].func).__module__ == __name__


def _close_client_after(item: pytest.Function) -> Any:
    """The test, which closes `client` at its end; another fixture may have asked for it."""
    test = item.obj

    @functools.wraps(test)
    async def closing(**arguments: Any) -> None:
        client: Any = item.funcargs["client"]
        async with client:
            await test(**arguments)

    return closing


class _LineCollector(logging.Handler):
    """Keeps the first warnings and errors of the project's loggers, as text with their fields."""

    def __init__(self, lines: list[str]) -> None:
        from quarterdeck.runtime.observability.logging import ConsoleFormatter

        super().__init__(logging.WARNING)
        self.setFormatter(ConsoleFormatter())
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one record."""
        if len(self._lines) < _MAX_LINES:
            self._lines.append(self.format(record))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Collect what operators log while a test runs: pytest's own report has no fields."""
    from quarterdeck.runtime.observability.logging import ROOT

    handler = _LineCollector(item.stash.setdefault(_lines, []))
    logger = logging.getLogger(ROOT)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the collected lines to the report of a test that failed."""
    report = yield
    lines = item.stash.get(_lines, [])
    if report.when == "call" and report.failed and lines:
        report.sections.append(("Operator warnings and errors", "\n".join(lines)))
    return report


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests that no other plugin runs, and that have no marker of one."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    if any(pyfuncitem.get_closest_marker(name) for name in ("asyncio", "anyio", "trio")):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    with asyncio.Runner() as runner:
        runner.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
