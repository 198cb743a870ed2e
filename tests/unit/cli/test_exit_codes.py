"""One set of exit codes: every command answers the same mistakes in the same way."""

import errno
import json
import os
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterdeck.app.errors import explain_os_error
from quarterdeck.cli.commands import Found, walk
from quarterdeck.cli.exit_codes import FAILED, OK, REFUSED, translate
from quarterdeck.cli.main import run
from quarterdeck.kit.full_disk import FULL_DISK_ERRNOS, is_full_disk
from quarterdeck.storage import DiskFull
from quarterdeck.storage.errors import NoSpace
from quarterdeck.storage.sqlite.errors import translate_open_errors
from quarterdeck.wire.status import Unauthorized

COMMANDS = [each for each in walk() if each.command is not None]
SERVING = ("run", "bootstrap", "hub", "ingester", "collector")
NO_CLUSTER_FIRST = ("quarterdeck version", "quarterdeck machines template import")
"""Commands whose cluster may be absent: a version is shown without, an image is read before."""
CONNECTING = [
    each
    for each in COMMANDS
    if each.command is not None
    and "--context" in each.command.build_parser(each.prog)._option_string_actions
    and each.prog.split()[1] not in SERVING
    and each.prog not in NO_CLUSTER_FIRST
]
WORDS = {
    "quarterdeck access explain": ["alice", "east"],
    "quarterdeck apply": ["-f", "FOLDER/object.json"],
    "quarterdeck clusters add": ["--name", "east", "--hub-kubeconfig", "FOLDER/kubeconfig"],
    "quarterdeck clusters join": ["east", "--image", "x"],
    "quarterdeck experiments plan": ["FOLDER/experiment.json"],
    "quarterdeck experiments run": ["FOLDER/experiment.json"],
    "quarterdeck hypervisor act": ["delete", "a"],
    "quarterdeck hypervisor fail": ["clone_vm"],
    "quarterdeck hypervisor timing": ["--scale", "2"],
    "quarterdeck metrics preview": ["FOLDER/metric.json"],
    "quarterdeck delete": ["cm", "a"],
    "quarterdeck describe": ["cm", "a"],
    "quarterdeck get": ["cm"],
    "quarterdeck watch": ["cm"],
    "quarterdeck logs": ["a"],
}
"""The arguments of a command that are more than a name for each required one."""


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
METRIC_SOURCE = {
    **{"apiVersion": "clusterpulse.io/v1alpha1", "kind": "MetricSource"},
    "metadata": {"name": "a"},
    "spec": {
        "source": {"apiVersion": "v1", "kind": "Pod"},
        "fields": [{"name": "name", "path": ".metadata.name"}],
    },
}
EXPERIMENT = {
    **{"apiVersion": "experiments.illm.io/v1alpha1", "kind": "Experiment"},
    "metadata": {"name": "a", "namespace": "experiments"},
    "spec": {
        "targets": [{"name": "app", "cluster": {"type": "hub"}}],
        "workflow": {"template": "t", "completion": {"mode": "workflow"}},
    },
}


def list_words(found: Found, folder: Path) -> list[str]:
    """Arguments that a command accepts."""
    path = found.prog.split()[1:]
    if found.prog in WORDS:
        return path + [each.replace("FOLDER", str(folder)) for each in WORDS[found.prog]]
    assert found.command is not None
    parser = found.command.build_parser(found.prog)
    required = [each for each in parser._get_positional_actions() if each.nargs not in ("?", "*")]
    return path + ["a"] * len(required)


@pytest.mark.parametrize("found", COMMANDS, ids=lambda each: str(each.prog))
def test_an_unknown_flag_is_refused_in_one_line(
    found: Found, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*found.prog.split()[1:], "--no-such-flag"]) == REFUSED
    done = capsys.readouterr()
    assert done.out == ""
    assert done.err.startswith(f"{found.prog}: ")
    assert done.err.count("\n") == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files for commands that read some, and a kubeconfig that leads nowhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "object.json").write_text(json.dumps(CONFIG_MAP))
    (tmp_path / "metric.json").write_text(json.dumps(METRIC_SOURCE))
    (tmp_path / "experiment.json").write_text(json.dumps(EXPERIMENT))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    write_kubeconfig(tmp_path / "kubeconfig", port)
    return tmp_path


def write_kubeconfig(path: Path, port: int) -> None:
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    path.write_text(
        json.dumps(
            {
                **{"apiVersion": "v1", "kind": "Config", "current-context": "c"},
                **{"clusters": [cluster], "contexts": [context]},
                "users": [{"name": "u", "user": {}}],
            }
        )
    )


@pytest.mark.parametrize("found", CONNECTING, ids=lambda each: str(each.prog))
@pytest.mark.parametrize(
    ("kubeconfig", "cause"),
    [
        pytest.param("kubeconfig", "cannot connect to 127.0.0.1:", id="refused connection"),
        pytest.param("none", "no kubeconfig at ", id="no kubeconfig"),
    ],
)
def test_a_cluster_that_is_not_there_fails_in_one_line(
    found: Found, kubeconfig: str, cause: str, *, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([*list_words(found, folder), "--kubeconfig", str(folder / kubeconfig)])
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (FAILED, 1), error
    assert error.startswith(f"{found.prog}: ")
    assert cause in error
    assert "--kubeconfig" in error


class Answering(socketserver.StreamRequestHandler):
    """Answers every request with the same body."""

    body = b""

    def handle(self) -> None:
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(self.body)}\r\nConnection: close\r\n\r\n"
        self.wfile.write(head.encode() + self.body)


@pytest.fixture(params=[b"<html>hello</html>", b"[]", b'{"kind":'], ids=["page", "list", "cut"])
def stranger(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that is no Kubernetes API server."""
    handler = type("Handler", (Answering,), {"body": request.param})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("found", CONNECTING, ids=lambda each: str(each.prog))
def test_a_server_of_another_kind_fails_in_one_line(
    found: Found, stranger: int, *, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_kubeconfig(folder / "kubeconfig", stranger)
    code = run([*list_words(found, folder), "--kubeconfig", str(folder / "kubeconfig")])
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (FAILED, 1), error
    assert error.startswith(f"{found.prog}: ")
    assert "--debug" not in error


def test_the_version_is_shown_beside_a_server_of_another_kind(
    stranger: int, *, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_kubeconfig(folder / "kubeconfig", stranger)
    assert run(["version", "--kubeconfig", str(folder / "kubeconfig")]) == OK
    shown = capsys.readouterr().out
    assert "server      none (GET http://127.0.0.1:" in shown
    assert "not a response of a Kubernetes API server, check the address" in shown


def test_no_space_and_a_used_up_quota_are_a_full_disk() -> None:
    assert {errno.ENOSPC, errno.EDQUOT} == FULL_DISK_ERRNOS
    assert not is_full_disk(PermissionError(errno.EACCES, "Permission denied"))
    assert not is_full_disk(ValueError(errno.ENOSPC))


@pytest.mark.parametrize("number", sorted(FULL_DISK_ERRNOS))
def test_a_full_disk_is_named_and_no_other_path_advised(number: int) -> None:
    error = OSError(number, os.strerror(number), "state.db")
    assert translate(error) == (FAILED, "the disk is full: state.db; free space and try again")
    told = explain_os_error(error, fix="choose another path")
    assert told == "the disk is full; free space and start again"
    with pytest.raises(NoSpace, match="the disk is full"), translate_open_errors(Path("state.db")):
        raise error
    denied = PermissionError(errno.EACCES, "Permission denied")
    assert explain_os_error(denied, fix="choose another path").endswith("; choose another path")


def test_a_write_that_the_store_refuses_for_space_names_the_disk() -> None:
    told = translate(DiskFull("write failed: no space left on the disk; nothing was stored"))
    assert told == (FAILED, "the disk is full; free space and try again")


def test_refused_credentials_name_what_to_check() -> None:
    code, told = translate(Unauthorized())
    assert code == FAILED
    assert told.startswith("the server answered 401 Unauthorized: ")
    assert "user of the kubeconfig" in told
