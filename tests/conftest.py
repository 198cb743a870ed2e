"""What every test gets: coroutines run on a loop of their own, and leaks are failures."""

import asyncio
import gc
import inspect
import itertools
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from example_counts import count_examples

from quarterdeck.kit import http
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.testing.blocking import BlockingCallDetector
from quarterdeck.testing.descriptors import find_leaked_descriptors, list_descriptors

SLOW_TIMEOUT_S = 1500
CLIENT_TIMEOUTS = {"connect_timeout_s": 240.0, "read_timeout_s": 300.0}
"""A loaded machine may stop a process for longer than the seconds that the product waits."""
FOREIGN_TIMEOUT_S = 60
_numbers = itertools.count()
_blocking = BlockingCallDetector(
    packages=("quarterdeck",),
    allowed=(
        "quarterdeck.storage.sqlite.open_sqlite",  # before anything is served
        "quarterdeck.storage.sqlite.log.SqliteLog.close",  # after everything was served
    ),
)


def pytest_configure() -> None:
    """Let Ctrl-C reach the processes that tests start.

    A shell that runs the tests in the background has them ignore SIGINT, and children inherit it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _keep_bytecode()
    if http.Client.__init__.__kwdefaults__:
        http.Client.__init__.__kwdefaults__.update(CLIENT_TIMEOUTS)
    # A red run must be somebody's change: CI repeats its examples, developers search for new ones;
    # how long that takes says more about the machine than about the change.
    hypothesis.settings.register_profile(
        "quarterdeck",
        max_examples=count_examples(100),
        derandomize=bool(os.environ.get("CI")),
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("quarterdeck")
    if folder := os.environ.get("QUARTERDECK_RECORD_USES"):
        import role_recorder

        role_recorder.install(Path(folder))


def _keep_bytecode() -> None:
    """Let workers and the processes that tests start keep what they compile, and find it again.

    Without it each worker compiles all tests, and each process all of the package that it imports.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers() -> int:
    """Half as many workers again as processors: tests of processes wait two fifths of the time."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests their longer limit, and skip what only the full run has."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_TIMEOUT_S))
        if item.get_closest_marker("full") and not os.environ.get("QUARTERDECK_FULL"):
            item.add_marker(pytest.mark.skip(reason="only in `make test-full`"))


def pytest_collection_finish() -> None:
    """Set aside what was imported and collected: it stays, so no collection need walk it again.

    Thresholds are those of the product, which take a tenth off the tests of a running operator.
    """
    gc.collect()
    tune_gc()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests; a task that outlives its test is an error."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    asyncio.run(_without_leaks(pyfuncitem.obj, arguments))
    return True


async def _without_leaks(test: Any, arguments: dict[str, Any]) -> None:
    await test(**arguments)
    for _ in range(3):
        await asyncio.sleep(0)
    leaked = _list_other_tasks()
    # Tasks of grpcio, which are no coroutines of Python, end a moment after its server has stopped:
    # a thread of its own hands over the end of each call.
    if foreign := [task for task in leaked if not inspect.iscoroutine(task.get_coro())]:
        await asyncio.wait(foreign, timeout=FOREIGN_TIMEOUT_S)
        leaked = _list_other_tasks()
    if leaked:
        pytest.fail(f"tasks outlived the test: {sorted(task.get_name() for task in leaked)}")


def _list_other_tasks() -> list["asyncio.Task[Any]"]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


@pytest.fixture(scope="session", autouse=True)
def _blocking_call_detector() -> Iterator[None]:
    """Watch for calls that block an event loop; `_blocking_calls` asks after each test."""
    with _blocking.install():
        yield


@pytest.fixture(scope="session", autouse=True)
def _opened_once() -> None:
    """Open what libraries open once in a process, so that no test is blamed for it.

    libuv makes a pipe for signals with its first loop, and keeps it.
    """
    if (uvloop := sys.modules.get("uvloop")) is not None:
        uvloop.new_event_loop().close()


@pytest.fixture(autouse=True)
def _blocking_calls(_blocking_call_detector: None) -> Iterator[None]:
    """A call of ours that blocks an event loop fails the test that made it."""
    _blocking.calls.clear()
    yield
    if _blocking.calls:
        pytest.fail("\n".join(map(str, _blocking.calls)))


@pytest.fixture(autouse=True)
def _leaked_descriptors(_opened_once: None) -> Iterator[None]:
    """A file descriptor left open fails the test that opened it.

    Fixtures of a wider scope are set up before and torn down later, so theirs do not count.
    """
    before = list_descriptors()
    yield
    leaked = find_leaked_descriptors(before)
    if leaked:
        pytest.fail(f"file descriptors outlived the test: {leaked}")


def required_tools() -> set[str]:
    """Tools whose absence is a failure instead of a skip."""
    return set(os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").replace(",", " ").split())


@pytest.fixture(autouse=True)
def _clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """No setting of the person who runs the tests reaches them, and nothing that kubectl cached.

    kubectl keeps what it discovers of a server for hours by host and port, and another test may
    have had a server on the same port.
    """
    for name in ("KUBECONFIG", "NAMESPACE", "PORT", "LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path_factory.getbasetemp() / "kubectl" / str(next(_numbers))
    monkeypatch.setenv("KUBECACHEDIR", str(folder))
    yield


@pytest.fixture(scope="module")
def obstore_runtime() -> None:
    """obstore starts its threads once in a process and keeps them: no test is blamed for it."""
    obstore = pytest.importorskip("obstore")
    store = pytest.importorskip("obstore.store").MemoryStore()

    async def use() -> None:
        await obstore.put_async(store, "a", b"")

    asyncio.run(use())
