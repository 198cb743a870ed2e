"""Every command as a person calls it, against a server of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from free_ports import FREE_PORTS

from quarterdeck.cli.commands import COMMANDS

pytestmark = pytest.mark.slow  # real processes, on whatever machine

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
Run = Callable[..., "subprocess.CompletedProcess[str]"]

APPLICATION = """
apiVersion: cloudnative.elide.dev/v1
kind: Application
metadata: {name: web}
spec: {replicas: 2, image: nginx}
"""


def call(
    folder: Path, *arguments: str, given: str = "", env: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        input=given,
        timeout=240,
        env={**os.environ, **(env or {})},
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder in which `up` runs, and the address of its health page."""
    folder = tmp_path_factory.mktemp("cli")
    process = subprocess.Popen(
        [*COMMAND, "up", *FREE_PORTS], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    screen = ""
    while "Activity" not in screen:
        screen += process.stdout.readline()
    found = re.search(r"(http://\S+)\s+health", screen)
    assert found is not None
    yield folder, found.group(1)
    process.terminate()
    process.communicate(timeout=240)


@pytest.fixture
def run(place: tuple[Path, str]) -> Iterator[Run]:
    """Call a command beside the running server, which it finds by itself."""

    def here(*arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return call(place[0], *arguments, **more)  # type: ignore[arg-type]

    yield here
    here("delete", "application", "web", "--ignore-not-found")


def good(done: "subprocess.CompletedProcess[str]") -> str:
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def bad(done: "subprocess.CompletedProcess[str]", code: int) -> str:
    line = done.stderr.strip()
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in line and "\n" not in line
    return line


def repeat(run: Run, words: str, *arguments: str) -> str:
    """Call a command until it prints some words: operators work beside the commands."""
    for _ in range(100):
        if words in (printed := good(run(*arguments))):
            break
    assert words in printed
    return printed


def test_an_object_is_applied_read_watched_explained_and_deleted(
    run: Run, place: tuple[Path, str]
) -> None:
    assert "web created" in good(run("apply", "-f", "-", given=APPLICATION))
    assert "web applied" in good(run("apply", "-f", "-", given=APPLICATION))
    until = good(run("watch", "app", "web", "--count", "1"))
    assert until.startswith("ADDED") and "default/web" in until
    table = good(run("get", "applications"))
    assert table.splitlines()[0].split() == ["NAME", "REPLICAS", "READY", "PHASE", "AGE"]
    assert "web" in table
    assert "IMAGE" in good(run("get", "app", "--wide"))
    assert good(run("get", "app", "-A")).splitlines()[0].startswith("NAMESPACE")
    assert good(run("get", "app", "web", "-o", "name")).strip().endswith("/web")
    document = json.loads(good(run("get", "app", "web", "-o", "json")))
    assert document["spec"]["image"] == "nginx" and "managedFields" not in document["metadata"]
    assert "image: nginx" in good(run("get", "app", "-o", "yaml"))
    assert json.loads(good(run("watch", "app", "-o", "json", "--count", "1")))["type"] == "ADDED"
    repeat(run, "Application default/web", "events", "--for", "application/web")
    assert "REASON" in good(run("events"))
    story = repeat(run, "wrote", "why", "application", "web", "--health", place[1])
    assert "cause" in story
    told = json.loads(good(run("why", "application", "web", "--health", place[1], "-o", "json")))
    assert told["controllers"][0]["controller"] == "application"
    assert "cause" in good(run("why", "application/web", "--health", place[1]))
    assert "web" in good(run("get", "app/web"))
    assert "web deleted" in good(run("delete", "app/web"))
    good(run("delete", "-f", "-", "--ignore-not-found", given=APPLICATION))


def test_a_dry_run_writes_nothing(run: Run) -> None:
    assert "(dry run)" in good(run("apply", "-f", "-", "--dry-run", given=APPLICATION))
    assert bad(run("get", "app", "web"), 1).startswith("quarterdeck get: the server answered 404")


def test_folders_and_lists_are_applied_in_a_good_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: fresh}\n"
    )
    (tmp_path / "b.json").write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fresh"}}],
            }
        )
    )
    out = good(run("apply", "-f", str(tmp_path)))
    assert out.splitlines() == ["namespace/fresh created", "configmap/c created"]
    good(run("delete", "-f", str(tmp_path)))


def test_version_prints_client_and_server(run: Run, tmp_path: Path) -> None:
    assert "v1.32" in good(run("version"))
    assert json.loads(good(run("version", "-o", "json")))["server"].startswith("v1.32")
    assert "none (" in good(call(tmp_path, "version", env={"HOME": str(tmp_path)}))
    assert good(call(tmp_path, "--version")).startswith("quarterdeck ")


@pytest.mark.parametrize(
    ("arguments", "given", "code", "words"),
    [
        pytest.param(["get", "nothing"], "", 1, ["nothing"], id="kind"),
        pytest.param(["get"], "", 2, ["KIND", "--help"], id="no kind"),
        pytest.param(["get", "app", "--nope"], "", 2, ["--nope"], id="flag"),
        pytest.param(["get", "app", "x", "-A"], "", 2, ["--namespace"], id="name everywhere"),
        pytest.param(["get", "app/a", "b"], "", 2, ["KIND/NAME"], id="two names"),
        pytest.param(["why", "app"], "", 2, ["NAME"], id="why what"),
        pytest.param(["get", "app", "-o", "xml"], "", 2, ["xml"], id="output"),
        pytest.param(["get", "app", "-l", "(("], "", 1, ["400"], id="selector"),
        pytest.param(["apply", "-f", "none.yaml"], "", 2, ["none.yaml"], id="no file"),
        pytest.param(["apply", "-f", "-"], "a: [", 2, ["YAML"], id="not YAML"),
        pytest.param(["apply", "-f", "-"], "", 2, ["no objects"], id="nothing"),
        pytest.param(["apply", "-f", "-"], "kind: A\n", 2, ["apiVersion"], id="no version"),
        pytest.param(
            ["apply", "-f", "-"], "apiVersion: v1\nkind: Pod\n", 2, ["metadata.name"], id="no name"
        ),
        pytest.param(
            ["apply", "-f", "-"],
            APPLICATION.replace("replicas: 2", "replicas: -2"),
            1,
            ["spec.replicas", "-2"],
            id="invalid",
        ),
        pytest.param(["delete", "app"], "", 2, ["--filename"], id="delete what"),
        pytest.param(["events", "--for", "web"], "", 2, ["KIND/NAME"], id="about what"),
        pytest.param(["cel", "1 +"], "", 1, ["line 1, column 4"], id="expression"),
        pytest.param(["cel", "self.x", "-f", "none"], "", 2, ["none"], id="no document"),
        pytest.param(["completion", "tcsh"], "", 2, ["bash"], id="shell"),
        pytest.param(["crds", "--operators", "x"], "", 2, ["applications"], id="operator"),
        pytest.param(
            ["why", "app", "x", "--health", "http://127.0.0.1:9"], "", 1, ["--health"], id="nobody"
        ),
        pytest.param(["nonsense"], "", 2, ["nonsense", "--help"], id="command"),
    ],
)
def test_mistakes_are_one_line_with_the_fix(
    run: Run, arguments: list[str], given: str, code: int, words: list[str]
) -> None:
    line = bad(run(*arguments, given=given), code)
    assert all(word in line for word in words), line


def test_debug_shows_where(run: Run) -> None:
    done = run("get", "nothing", "--debug")
    assert done.returncode == 1 and "Traceback" in done.stderr


def test_a_kubeconfig_that_points_nowhere_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
    )
    for arguments in (["get", "pods"], ["run", "--health-port", "0", "--metrics-port", "0"]):
        done = call(tmp_path, *arguments, "--kubeconfig", str(path))
        line = bad(done, 2 if arguments[0] == "run" else 1)
        assert "127.0.0.1:9" in line
    missing = bad(call(tmp_path, "get", "pods", "--kubeconfig", "none"), 1)
    assert "none" in missing and "KUBECONFIG" in missing
    bad(call(tmp_path, "get", "pods", "--kubeconfig", str(path), "--context", "other"), 1)


def test_an_expired_certificate_is_named(place: tuple[Path, str], tmp_path: Path) -> None:
    """A server that presents a certificate from long ago."""
    import ssl
    import threading
    from datetime import UTC, datetime
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from quarterdeck.app import certificates

    made = certificates.ensure(tmp_path / "pki", datetime(2001, 1, 1, tzinfo=UTC))
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate("server"), made.key("server"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        path = tmp_path / "config"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            "contexts: [{name: c, context: {cluster: c}}]\n"
            f"clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{server.server_port}',"
            f" certificate-authority: {made.certificate('authority')}}}}}]\n"
        )
        line = bad(call(tmp_path, "get", "pods", "--kubeconfig", str(path)), 1)
        assert "expired" in line
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_doctor_explains_and_checks(tmp_path: Path) -> None:
    done = call(tmp_path, "doctor", *FREE_PORTS, "-o", "json", env={"LOG_LEVEL": "debug"})
    found = json.loads(done.stdout)
    origins = {each["name"]: each["origin"] for each in found["settings"]}
    assert origins["log_level"] == "environment LOG_LEVEL"
    assert origins["port"] == "flag --port"
    assert {"python", "data", "kubectl", "version"} <= {each["what"] for each in found["checks"]}
    assert list(tmp_path.iterdir()) == []


def test_cel_prints_value_type_and_cost(tmp_path: Path) -> None:
    out = good(call(tmp_path, "cel", "self.replicas * 2", "-f", "-", given="replicas: 3"))
    assert out.splitlines()[0] == "value  6"


def test_crds_and_manifests_are_yaml(tmp_path: Path) -> None:
    from quarterdeck.kit import yaml

    definitions = list(yaml.load_all(good(call(tmp_path, "crds", "--operators", "applications"))))
    assert [each["metadata"]["name"] for each in definitions] == [
        "applications.cloudnative.elide.dev"
    ]
    documents = list(yaml.load_all(good(call(tmp_path, "manifests", "--image", "mine:1"))))
    kinds = {each["kind"] for each in documents}
    assert {"Namespace", "Deployment", "ClusterRole", "NetworkPolicy"} <= kinds
    assert "mine:1" in str(documents)


def test_help_names_every_command_and_every_command_has_help(tmp_path: Path) -> None:
    text = good(call(tmp_path, "--help"))
    assert all(f"  {name} " in text for name in COMMANDS)
    for name in COMMANDS:
        assert "--help" in good(call(tmp_path, name, "--help"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program(shell: str, tmp_path: Path) -> None:
    script = good(call(tmp_path, "completion", shell))
    assert "quarterdeck" in script and "__complete" in script
    if shell == "bash":
        check = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert (check.returncode, check.stderr) == (0, "")
