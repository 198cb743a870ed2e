"""`quarterdeck up` as a new user meets it: a real process, kubectl, curl-like requests."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS, PORT_FLAGS

from quarterdeck.kit.free_port import find_free_port
from quarterdeck.storage.lockfile import LockFile

pytestmark = pytest.mark.slow  # real processes, on whatever machine

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
GROUP = "/apis/cloudnative.elide.dev/v1"

Start = Callable[..., "Up"]


class Up:
    """A running `quarterdeck up`."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "up", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.screen = ""

    def ready(self) -> str:
        """The start screen, once it is complete."""
        assert self.process.stdout is not None
        while "Activity" not in self.screen:
            line = self.process.stdout.readline()
            assert line, f"it ended: {self.process.stderr.read() if self.process.stderr else ''}"
            self.screen += line
        return self.screen

    def url(self, what: str) -> str:
        found = re.search(rf"(https?://\S+)\s+{what}", self.ready())
        assert found is not None
        return found.group(1)

    @property
    def facade(self) -> str:
        return self.url("applications API on plain HTTP")

    @property
    def kubeconfig(self) -> str:
        found = re.search(r"export KUBECONFIG=(\S+)", self.ready())
        assert found is not None
        return found.group(1)

    def end(self, number: int = signal.SIGINT) -> tuple[int, str, str]:
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=240)
        return self.process.returncode, out, errors

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        request = urllib.request.Request(
            self.facade + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=240) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Up] = []

    def run(*arguments: str, env: dict[str, str] | None = None) -> Up:
        running.append(Up(tmp_path, *FREE_PORTS, *arguments, env=env))
        return running[-1]

    yield run
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()


def application(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": name},
        "spec": {"replicas": 3, "image": "nginx:latest", "strategy": "RollingUpdate", **spec},
    }


def until_running(up: Up, path: str) -> dict[str, Any]:
    """Read until it runs; the watch is tested elsewhere."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        code, found = up.ask("GET", path)
        if code == 200 and found.get("status", {}).get("phase") == "Running":
            answer: dict[str, Any] = found
            return answer
        time.sleep(0.05)  # noqa: TID251 -- a user at a terminal
    raise AssertionError(f"{path} did not become Running")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_printed_command_applies_the_samples_without_a_warning(start: Start) -> None:
    up = start()
    found = re.search(r"^    (.* \| kubectl apply .*)$", up.ready(), re.MULTILINE)
    assert found is not None
    done = subprocess.run(
        found[1],
        shell=True,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "KUBECONFIG": up.kubeconfig},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "application.cloudnative.elide.dev/my-app" in done.stdout


def test_start_screen_names_every_listener_and_three_commands(start: Start) -> None:
    up = start()
    screen = up.ready()
    assert screen.startswith("Quarterdeck ")
    assert len(re.findall(r"https?://127\.0\.0\.1:\d+ ", screen)) >= 4
    assert "operators  applications" in screen
    commands = re.findall(r"^    \S*(?:kubectl|quarterdeck|curl) .*$", screen, re.MULTILINE)
    assert len(commands) == 3
    assert stat.S_IMODE(Path(up.kubeconfig).stat().st_mode) == 0o600


def test_every_request_of_the_tour_works(start: Start) -> None:
    up = start()
    apps = f"{GROUP}/namespaces/default/applications"
    assert up.ask("POST", apps, application("my-app"))[0] == 201
    assert until_running(up, f"{apps}/my-app")["status"]["readyReplicas"] == 3
    put = application("my-app", replicas=5)
    put["metadata"]["namespace"] = "default"
    assert up.ask("PUT", f"{apps}/my-app", put)[0] == 200
    watch = urllib.request.urlopen(f"{up.facade}/watch?sendInitialEvents=true", timeout=240)
    with watch:
        lines = iter(watch.readline, b"")
        assert b"my-app" in next(line for line in lines if line.startswith(b"data:"))
    test = f"{GROUP}/namespaces/test/applications"
    assert up.ask("POST", test, application("test-app", replicas=1))[0] == 201
    until_running(up, f"{test}/test-app")
    assert up.ask("GET", "/events")[1]["events"]
    assert up.ask("GET", "/healthz") == (200, {"status": "healthy"})
    assert up.ask("GET", "/crd")[0] == 200
    assert up.ask("GET", "/")[1]["resources"] == 2
    assert up.ask("DELETE", f"{apps}/my-app")[1]["status"] == "Success"
    code, out, errors = up.end()
    assert (code, errors) == (0, "")
    assert "Application default/my-app created" in out
    assert "Application default/my-app deleted" in out


def test_a_second_start_has_every_object_of_the_first(start: Start) -> None:
    first = start()
    apps = f"{GROUP}/namespaces/default/applications"
    first.ask("POST", apps, application("kept"))
    until_running(first, f"{apps}/kept")
    uid = first.ask("GET", f"{apps}/kept")[1]["metadata"]["uid"]
    assert first.end()[0] == 0
    second = start()
    assert until_running(second, f"{apps}/kept")["metadata"]["uid"] == uid


def test_demo_converges(start: Start) -> None:
    up = start("--demo", "--in-memory")
    apps = f"{GROUP}/namespaces/default/applications"
    until_running(up, f"{apps}/my-app")
    assert "nothing is stored" in up.ready()
    code, _, errors = up.end(signal.SIGTERM)
    assert code == 0
    assert "orbidden" not in errors  # the operators have the rights they get in a cluster


def test_operators_act_as_the_service_account_of_the_manifests(start: Start) -> None:
    up = start("--in-memory")
    account = "system:serviceaccount:quarterdeck-system:quarterdeck-manager"
    for verb, resource, group, expected in (
        ("list", "applications", "cloudnative.elide.dev", True),
        ("delete", "nodes", "", False),
        ("create", "clusterrolebindings", "rbac.authorization.k8s.io", False),
    ):
        attributes = {"verb": verb, "resource": resource, "group": group}
        status, review = up.ask(
            "POST",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"spec": {"user": account, "resourceAttributes": attributes}},
        )
        assert status == 201
        assert review["status"]["allowed"] is expected, (verb, resource)


def test_kubectl_works_on_it(start: Start, tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    up = start("--in-memory")
    base = [kubectl, "--kubeconfig", up.kubeconfig]

    def run(*arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            [*base, *arguments], capture_output=True, text=True, input=given, timeout=240
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        return done.stdout

    samples = subprocess.run(
        [*COMMAND, "manifests", "--samples", "--operators", "applications,pipelines"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    run("apply", "-f", "-", given=samples)
    run("wait", "application/my-app", "--for=condition=Ready", "--timeout=240s")
    run("wait", "application/report", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=240s")
    run("scale", "application/my-app", "--replicas=5")
    run("wait", "app/my-app", "--for=jsonpath={.status.readyReplicas}=5", "--timeout=240s")
    assert "my-app" in run("get", "applications,deployments,services,configmaps")
    run("delete", "application", "my-app", "--timeout=240s")
    assert "my-app" not in run("get", "deployments", "-o", "name")


def test_port_moves_the_facade(tmp_path: Path) -> None:
    port = find_free_port()
    flags = ["--in-memory", *FREE_PORTS[:2], *FREE_PORTS[4:]]  # all but --http-port
    up = Up(tmp_path, *flags, env={"PORT": str(port)})
    try:
        assert up.facade == f"http://127.0.0.1:{port}"
    finally:
        assert up.end()[0] == 0


def test_config_file_and_environment_are_read(start: Start, tmp_path: Path) -> None:
    (tmp_path / "quarterdeck.yaml").write_text("dataDir: from-file\n")
    start().ready()
    assert (tmp_path / "from-file" / "state.db").is_file()
    start(env={"QUARTERDECK_DATA_DIR": "from-env"}).ready()
    assert (tmp_path / "from-env" / "state.db").is_file()


# --- bad input: one line that names the fix, a code, nothing half-written


def refused(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [*COMMAND, "up", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    line = done.stderr.strip()
    assert "\n" not in line and "Traceback" not in line
    assert line.startswith("quarterdeck up: ")
    return line


@pytest.mark.parametrize("flag", PORT_FLAGS)
def test_a_taken_port_names_its_flag_and_touches_nothing(flag: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        arguments = [
            *FREE_PORTS[: FREE_PORTS.index(flag)],
            *FREE_PORTS[FREE_PORTS.index(flag) + 2 :],
        ]
        line = refused(tmp_path, *arguments, flag, str(port))
    assert f"cannot bind port {port} " in line and flag in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "env", "words"),
    [
        pytest.param(["--port", "99999"], {}, ["--port", "65535"], id="port"),
        pytest.param(["--operators", "nope"], {}, ["nope", "applications"], id="operator"),
        pytest.param(["--workers", "0"], {}, ["workers", "from 1"], id="workers"),
        pytest.param([], {"LOG_LEVEL": "loud"}, ["LOG_LEVEL", "debug"], id="level"),
        pytest.param([], {"PORT": "http"}, ["PORT", "http"], id="PORT"),
        pytest.param(["--config", "none.yaml"], {}, ["none.yaml", "--config"], id="no file"),
        pytest.param(
            [], {"METRICS_BIND_ADDRESS": "8080"}, ["HOST:PORT", "8080"], id="bind address"
        ),
    ],
)
def test_bad_settings_are_refused(
    arguments: list[str], env: dict[str, str], words: list[str], tmp_path: Path
) -> None:
    line = refused(tmp_path, *arguments, env=env)
    assert all(word in line for word in words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("prot: 1\n", ["prot", "port"], id="unknown setting"),
        pytest.param("port: [1\n", ["YAML", "line"], id="not YAML"),
        pytest.param("- a\n", ["mapping"], id="a list"),
        pytest.param("port: x\n", ["quarterdeck.yaml", "'x'"], id="bad value"),
    ],
)
def test_a_bad_config_file_is_refused(text: str, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "quarterdeck.yaml").write_text(text)
    line = refused(tmp_path)
    assert all(word in line for word in words)


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        pytest.param("file", "it is not a folder", id="a file"),
        pytest.param("file/inside", "Not a directory", id="inside a file"),
    ],
)
def test_a_data_dir_that_cannot_be_used_is_refused(
    folder: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    line = refused(tmp_path, *FREE_PORTS, "--data-dir", folder)
    assert line == (
        f"quarterdeck up: cannot use the data folder {folder}: {reason}; "
        "choose another folder with --data-dir, or use --in-memory"
    )


def test_data_in_use_is_named_before_the_ports(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    lock = LockFile(tmp_path / "data" / "state.db.lock")
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            line = refused(tmp_path, *FREE_PORTS, "--data-dir", "data", "--port", port)
    finally:
        lock.release()
    assert line == (
        f"quarterdeck up: the data folder data is in use by process {os.getpid()}: "
        "stop that process, or choose another folder with --data-dir"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param("ro", ["Read-only", "--data-dir"], id="read-only"),
        pytest.param("size=64k", ["full", "free space"], id="full"),
    ],
)
def test_a_disk_that_cannot_be_written_is_named(
    options: str, words: list[str], tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("this user may not mount")
    try:
        line = refused(tmp_path, *FREE_PORTS, "--data-dir", str(disk / "data"))
        assert all(word in line for word in words)
        assert not (disk / "data" / "state.db").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_second_one_on_the_same_data_is_refused(start: Start, tmp_path: Path) -> None:
    start().ready()
    line = refused(tmp_path, *FREE_PORTS)
    assert ".quarterdeck" in line


def test_a_kubeconfig_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    line = refused(tmp_path, *FREE_PORTS, "--in-memory", "--kubeconfig", "file/inside")
    assert "--kubeconfig" in line


def test_an_interrupted_start_is_reported_and_can_be_repeated(start: Start, tmp_path: Path) -> None:
    first = start()
    while not (tmp_path / ".quarterdeck").exists():  # it has begun, and is not ready yet
        time.sleep(0.005)  # noqa: TID251 -- no event tells of another process's folder
    code, _, errors = first.end()
    assert "Traceback" not in errors
    assert code in (0, 130, -2)  # it may have been ready, or not have begun
    assert start().ready()


FLEET_ENVIRONMENT = {
    "FLEET_MANAGEMENT_BASE_URL": "http://127.0.0.1:1/pipeline.v1.PipelineService/",
    "FLEET_MANAGEMENT_USERNAME": "12345",
    "FLEET_MANAGEMENT_PASSWORD": "a-token-nobody-sees",
}


def test_up_uses_the_fleet_server_of_the_environment(start: Start) -> None:
    up = start("--in-memory", "--operators", "pipelines", env=FLEET_ENVIRONMENT)
    assert up.url("fleet server of FLEET_MANAGEMENT_BASE_URL, as user 12345") == (
        "http://127.0.0.1:1"
    )
    code, out, errors = up.end()
    assert code == 0
    assert "fleet server for collectors" not in up.screen
    assert "a-token-nobody-sees" not in up.screen + out + errors


def test_up_refuses_incomplete_credentials_of_a_fleet_server(start: Start) -> None:
    env = {**FLEET_ENVIRONMENT, "FLEET_MANAGEMENT_PASSWORD": ""}
    code, out, errors = start("--in-memory", "--operators", "pipelines", env=env).end(0)
    assert code == 2
    assert "Activity" not in out
    assert "incomplete" in errors and "set FLEET_MANAGEMENT_PASSWORD, or unset" in errors
