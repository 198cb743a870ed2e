"""The built wheel alone, in an empty environment: what `pip install quarterdeck` gives a user."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from free_ports import FREE_PORTS

from quarterdeck.testing import programs

pytestmark = pytest.mark.slow  # builds, installs and starts real processes

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quarterdeck/wheels"
"""Where tools/venv.sh keeps the wheels of `make run`."""
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
INTERPRETERS = [
    pytest.param(each, marks=() if each == THIS else pytest.mark.full)
    for each in ("3.11", "3.12", "3.13", "3.14")
]
OWN_TEST = """
from quarterdeck.apis.kubernetes.core import ConfigMap
from quarterdeck.meta.objects import ObjectMeta


async def test_server_of_this_test(client, namespace):
    metadata = ObjectMeta(name="mine", namespace=namespace)
    await client.create(ConfigMap(metadata=metadata, data={"key": "value"}))
    assert (await client.get(ConfigMap, "mine", namespace)).data == {"key": "value"}


def test_kubeconfig_is_a_file(kubeconfig):
    assert kubeconfig.exists()
"""


class Installed(NamedTuple):
    """An environment with the wheel and what it depends on."""

    folder: Path
    version: str

    def program(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def install(self, *requirements: str) -> None:
        """Install from the kept wheels, or from the index where they do not suffice."""
        pip = [self.program("python"), "-m", "pip", "install", "--quiet"]
        pins = ["--constraint", str(write_pins(self.folder / "pins.txt"))]
        kept = ["--no-index", "--find-links", str(CACHE)]
        if run(*pip, *kept, *pins, *requirements).returncode == 0:
            return
        done = run(*pip, *pins, *requirements)
        if done.returncode and "NewConnectionError" in done.stderr:
            pytest.skip(f"the package index cannot be reached: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr


class Demo(NamedTuple):
    """A running `quarterdeck up --demo`."""

    folder: Path
    screen: str


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: each for key, each in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        command,
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def write_pins(path: Path) -> Path:
    """The tested versions without hashes, because our own wheel has none before it is built."""
    text = (ROOT / "constraints-test.txt").read_text(encoding="utf-8")
    path.write_text("\n".join(re.findall(r"^[\w.-]+==[^\\\n]+", text, flags=re.M)))
    return path


def build_wheel(folder: Path, epoch: str = "1700000000") -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    done = subprocess.run(
        [*command, "--directory", str(folder)],
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("quarterdeck-*.whl")
    return wheel


def find_interpreter(version: str) -> str:
    """An interpreter on the PATH or of pyenv; one that does not start is none."""
    if version == THIS:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python"))),
    ]
    for each in found:
        if each is not None and run(each, "-c", "import venv").returncode == 0:
            return each
    pytest.skip(f"there is no python{version} on the PATH and none of pyenv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=INTERPRETERS)
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    folder = tmp_path_factory.mktemp("environment")
    interpreter = find_interpreter(request.param)
    done = run(interpreter, "-m", "venv", str(folder))
    if done.returncode:
        pytest.skip(f"{interpreter} makes no virtual environment: {done.stdout}{done.stderr}")
    environment = Installed(folder, request.param)
    environment.install(str(wheel))
    return environment


@pytest.fixture(scope="module")
def demo(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo")
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [installed.program("quarterdeck"), "up", "--demo", *FREE_PORTS],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    screen = ""
    assert process.stdout is not None
    with process.stdout as output:
        while "my-app ReconciliationSucceeded" not in screen:
            line = output.readline()
            assert line, screen + (folder / "errors").read_text()
            screen += line
        drain = threading.Thread(target=output.read)  # a full pipe would stop the program
        drain.start()
        yield Demo(folder, screen)
        process.send_signal(signal.SIGINT)
        drain.join(240)
    assert process.wait(240) == 0, (folder / "errors").read_text()


def read_next_steps() -> list[str]:
    """The commands below the README's "What to try next", without their comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^## What to try next\n+```\n(.*?)^```", text, flags=re.M | re.S)
    assert found is not None
    lines = [re.sub(r"\s+#.*", "", line) for line in found.group(1).splitlines()]
    return [line for line in lines if line and not line.startswith(("make ", "export "))]


def find_url(demo: Demo, what: str) -> str:
    found = re.search(rf"(http://\S+)\s+{what}", demo.screen)
    assert found is not None, demo.screen
    return found.group(1)


def try_step(line: str, *, installed: Installed, demo: Demo) -> str:
    """Run a line of the README in the repository, the installed program in place of .venv's."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line.replace(".venv/bin/", "")],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{installed.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "KUBECONFIG": str(demo.folder / ".quarterdeck/kubeconfig"),
            "QUARTERDECK_HEALTH_URL": find_url(demo, "health"),
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_same_source_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    again = build_wheel(tmp_path)
    assert again.name == wheel.name
    assert (
        hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()
    )


def test_environment_is_small(installed: Installed) -> None:
    files = [each for each in installed.folder.rglob("*") if each.is_file()]
    size = sum(each.stat().st_size for each in files if not each.is_symlink())
    assert size < 150 * 1024 * 1024, f"{size / 1024 / 1024:.0f} MB"


def test_our_program_alone_does_what_the_readme_says(installed: Installed, demo: Demo) -> None:
    steps = [each for each in read_next_steps() if "quarterdeck " in each]
    assert len(steps) >= 2
    answers = [try_step(each, installed=installed, demo=demo) for each in steps]
    assert all("my-app" in each for each in answers), answers


def test_kubectl_does_what_the_readme_says(installed: Installed, demo: Demo) -> None:
    programs.require("kubectl")
    steps = [each for each in read_next_steps() if each.startswith("kubectl ")]
    assert len(steps) >= 4
    version = "kubectl get application my-app -o jsonpath={.metadata.generation}"
    before = try_step(version, installed=installed, demo=demo)
    answers = "\n".join(try_step(each, installed=installed, demo=demo) for each in steps)
    assert "my-app" in answers
    assert "Application" in answers
    assert try_step(version, installed=installed, demo=demo) == before


def test_live_events_are_served_without_kubectl(demo: Demo) -> None:
    (step,) = [each for each in read_next_steps() if each.startswith("curl ")]
    path = step.partition(":3000")[2]
    url = find_url(demo, "applications API on plain HTTP") + path
    with urllib.request.urlopen(url, timeout=240) as answer:
        assert answer.readline().strip()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(installed: Installed, shell: str) -> None:
    done = run(installed.program("quarterdeck"), "completion", shell)
    assert done.returncode == 0, done.stderr
    assert "quarterdeck" in done.stdout


def test_completion_of_bash_offers_commands(installed: Installed) -> None:
    script = (
        'PATH="$1:$PATH"; source <(quarterdeck completion bash); '
        "COMP_WORDS=(quarterdeck serv); COMP_CWORD=1; "
        "$(complete -p quarterdeck | sed -E 's/.*-F (\\S+).*/\\1/'); "
        'echo "${COMPREPLY[@]}"'
    )
    done = run("bash", "-c", script, "bash", str(installed.folder / "bin"))
    assert done.stdout.splitlines()[-1].strip() == "server", done


def test_test_kit_gives_its_fixtures(installed: Installed, wheel: Path, tmp_path: Path) -> None:
    installed.install(f"quarterdeck[test] @ {wheel.as_uri()}")
    (tmp_path / "test_mine.py").write_text(OWN_TEST)
    done = run(
        installed.program("python"), "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
