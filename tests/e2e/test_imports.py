"""What is loaded when a command is ready: start-up time is a feature, and imports are its price."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from free_ports import FREE_PORTS

from quarterdeck.app import embedded
from quarterdeck.kit.clock import SystemClock

HOOK = """
import sys
from quarterdeck.cli.main import main

class Told:
    def __init__(self, stream):
        self._stream = stream
    def write(self, text):
        written = self._stream.write(text)
        if "ready" in text:
            self._stream.write("\\nmodules " + " ".join(sys.modules) + "\\n")
        return written
    def __getattr__(self, name):
        return getattr(self._stream, name)

sys.stdout = Told(sys.stdout)
raise SystemExit(main(sys.argv[1:]))
"""

SMALL = {"msgspec", "typing_extensions", "httptools", "uvloop"}
"""What every server process needs, and nothing else that is not Python's own."""

CUSTOMIZED = {"sitecustomize", "usercustomize"}
"""What Python itself loads at every start where a system has it, as Debian does."""

HEAVY = ("email", "http", "multiprocessing", "tomllib", "unittest", "xml", "urllib.request")
"""Parts of the standard library that a server has no use for; together they cost 100 ms."""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules a command has loaded when it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOOK, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("modules "):
                return set(line.split()[1:])
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=240)
    raise AssertionError(errors)


def foreign(modules: Iterable[str]) -> set[str]:
    """Packages that are neither ours nor Python's; private ones belong to a public one."""
    tops = {name.partition(".")[0] for name in modules}
    ours = {"quarterdeck", "cython_runtime"}
    python = {*sys.stdlib_module_names, *CUSTOMIZED}
    return {each for each in tops - python - ours if not each.startswith("_")}


def under(modules: Iterable[str], *packages: str) -> list[str]:
    """Modules that belong to one of these packages."""
    return sorted(name for name in modules if any(_is_in(name, each) for each in packages))


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """A server that has its certificates and all objects of its own from earlier starts."""
    folder = tmp_path_factory.mktemp("server")
    arguments = ("server", "--data-dir", "data", "--port", "0", "--http-port", "0")
    loaded(folder, *arguments)
    asyncio.run(_finish_first_start(folder / "data"))
    return loaded(folder, *arguments)


async def _finish_first_start(data_dir: Path) -> None:
    """Let the life cycle complete what a process that ended when it was ready left behind."""
    async with contextlib.AsyncExitStack() as stack:
        plan = embedded.Plan(data_dir=data_dir, port=0)
        server = await embedded.start(plan, stack, clock=SystemClock())
        assert server.api.lifecycle is not None
        await server.api.lifecycle.wait_until_idle()


def test_a_server_loads_few_packages_of_others(server: set[str]) -> None:
    assert foreign(server) - SMALL == set()


def test_a_server_loads_nothing_of_the_layers_it_is_not_made_of(server: set[str]) -> None:
    layers = ("client", "runtime", "operators", "services", "agents", "testing", "codegen")
    assert under(server, *(f"quarterdeck.{layer}" for layer in layers)) == []


def test_a_server_loads_languages_and_tables_when_they_are_needed(server: set[str]) -> None:
    late = ("cel", "telemetry", "apis", "kit.yaml", "kit.patterns", "kit.http.client", "wire.apply")
    assert under(server, *(f"quarterdeck.{name}" for name in late)) == []


def test_a_server_loads_no_heavy_parts_of_python(server: set[str]) -> None:
    assert under(server, *HEAVY) == []


def test_a_first_start_loads_cryptography_only(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "server", "--in-memory", "--port", "0")
    assert foreign(modules) - SMALL == {"cryptography"}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """`up`, with certificates from an earlier start."""
    folder = tmp_path_factory.mktemp("up")
    arguments = ("up", "--data-dir", "data", *FREE_PORTS)
    loaded(folder, *arguments)
    return loaded(folder, *arguments)


def test_up_loads_few_packages_of_others(everything: set[str]) -> None:
    in_definitions = {"re2"}  # their schemas have patterns, which are checked: 6 ms
    assert foreign(everything) - SMALL - in_definitions == set()


def test_up_loads_the_hub_api_with_its_first_request(everything: set[str]) -> None:
    assert under(everything, "quarterdeck.services.hub") == []


def test_up_loads_no_command_line_test_kit_or_generator(everything: set[str]) -> None:
    assert under(everything, "quarterdeck.testing", "quarterdeck.codegen") == []
    commands = under(everything, "quarterdeck.cli")
    assert set(commands) <= {
        f"quarterdeck.cli{part}"
        for part in (
            *("", ".main", ".command", ".parameters", ".exit_codes", ".loop", ".settings"),
            *(".lean_start", ".commands", ".commands.up"),
        )
    }


OPERATOR = """
import asyncio, sys
from quarterdeck.client import Client, load_config
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import Context, Controller, Manager

class Widget(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Widget", plural="widgets")

async def reconcile(widget: Widget, ctx: Context[Widget]) -> None:
    ...

async def main() -> None:
    async with Client(load_config(sys.argv[1])) as client:
        Manager(client, name="widgets").add(Controller(reconcile=reconcile, for_=Widget))

asyncio.run(main())
print("modules", *sys.modules)
"""


KUBECONFIG = {
    "current-context": "here",
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    "clusters": [{"name": "here", "cluster": {"server": "https://localhost:1"}}],
    "users": [{"name": "me", "user": {"token": "none"}}],
}
LIBRARIES = "import sys, asyncio, msgspec, httptools; print('modules', *sys.modules)"
PYTHON_EXTRA = {"random", "bisect", "zlib", "gc"}
"""What an operator needs of Python beside what its libraries load; private modules aside."""
MOST_MODULES = 140
"""Each module takes a tenth of a millisecond to load, and what it defines as much again."""


def run_and_list(script: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("modules ")[2].split())


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    file = tmp_path_factory.mktemp("operator") / "kubeconfig"
    file.write_text(json.dumps(KUBECONFIG))
    return run_and_list(OPERATOR, str(file))


def test_an_operator_loads_little_of_python_that_its_libraries_do_not(operator: set[str]) -> None:
    own = {name for name in operator if name.partition(".")[0] in sys.stdlib_module_names}
    extra = own - run_and_list(LIBRARIES)
    assert {name for name in extra if not name.startswith("_")} <= PYTHON_EXTRA


def test_an_operator_loads_few_modules_of_ours(operator: set[str]) -> None:
    assert len(under(operator, "quarterdeck")) <= MOST_MODULES


def test_an_operator_loads_what_it_uses(operator: set[str]) -> None:
    modules = operator
    assert foreign(modules) <= SMALL
    layers = ("server", "storage", "cel", "operators", "services", "app", "testing", "codegen")
    assert under(modules, *(f"quarterdeck.{layer}" for layer in layers)) == []
    optional = ("webhooks", "leaderelection.state", "endpoints", "sharding.sharder")
    assert under(modules, *(f"quarterdeck.runtime.{each}" for each in optional)) == []
    rare = ("kit.yaml", "kit.http.server", "meta.go_literal", "meta.builtins", "client.discovery")
    assert under(modules, *(f"quarterdeck.{each}" for each in rare)) == []
    assert under(modules, "quarterdeck.wire.label_selector") == []
    assert under(modules, *HEAVY, "dataclasses", "hashlib") == []


@pytest.mark.parametrize("arguments", [["--help"], ["get", "--help"], ["pipelines", "--help"]])
def test_help_loads_no_client_and_no_event_loop(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from quarterdeck.cli.main import run\n"
        f"run({arguments!r})\n"
        "print('modules', *sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    modules = set(done.stdout.rpartition("modules ")[2].split())
    assert "quarterdeck.cli.main" in modules, done.stderr
    assert foreign(modules) == set()
    assert under(modules, "asyncio", "ssl", "quarterdeck.client", "quarterdeck.app") == []
    assert under(modules, "pathlib", "urllib", "ipaddress") == []
