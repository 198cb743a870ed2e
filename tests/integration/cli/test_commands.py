"""The commands inside this process, against a server of the test's own."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.capture import CaptureResult
from free_ports import PORT_FLAGS

from quarterdeck.cli.commands.get import get
from quarterdeck.cli.connection import list_contexts
from quarterdeck.cli.loop import run_without_loop
from quarterdeck.cli.main import run
from quarterdeck.client.blocking import EventLoopRequired
from quarterdeck.kit import yaml

WIDGETS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {app: a}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
"""


class Shell:
    """Calls commands with a kubeconfig, and reads what they print."""

    def __init__(self, kubeconfig: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.kubeconfig = kubeconfig
        self._capture = capture

    def __call__(self, *arguments: str, code: int = 0) -> str:
        assert run([*arguments, "--kubeconfig", str(self.kubeconfig)]) == code
        done = self._capture.readouterr()
        return done.out if code == 0 else done.err

    def read(self) -> CaptureResult[str]:
        """What was printed since the last call."""
        return self._capture.readouterr()


@pytest.fixture
def shell(kubeconfig: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(kubeconfig, capsys)


@pytest.fixture
def files(tmp_path: Path) -> str:
    (tmp_path / "maps.yaml").write_text(WIDGETS)
    return str(tmp_path)


def test_objects_come_and_go(shell: Shell, files: str) -> None:
    assert shell("apply", "-f", files) == "configmap/one created\nconfigmap/two created\n"
    assert shell("apply", "-f", files, "--force").count("applied") == 2
    assert "(dry run)" in shell("apply", "-f", files, "--dry-run")
    rows = shell("get", "configmaps", "-l", "app=a").splitlines()
    assert [row.split()[0] for row in rows] == ["NAME", "one"]
    assert shell("get", "cm/two", "-o", "name") == "configmap/two\n"
    assert json.loads(shell("get", "cm", "one", "-o", "json"))["data"] == {"a": "1"}
    assert shell("get", "cm", "-A").startswith("NAMESPACE")
    assert len(json.loads(shell("get", "cm", "-o", "json"))["items"]) >= 2
    assert "name: one" in shell("get", "cm", "-o", "yaml", "-n", "default")
    assert "No secrets found in namespace default." in shell("get", "secrets")
    assert "default" in shell("get", "namespaces", "--wide")
    both = shell("get", "cm,namespaces").split("\n\n")
    assert [table.split()[0] for table in both] == ["NAME", "NAME"]
    assert "namespace/default" in shell("get", "cm,ns", "-o", "name")
    kinds = {each["kind"] for each in json.loads(shell("get", "cm,ns", "-o", "json"))["items"]}
    assert kinds == {"ConfigMap", "Namespace"}
    assert shell("watch", "cm", "one", "--count", "1").startswith("ADDED     ConfigMap default/one")
    assert "# ADDED" in shell("watch", "cm", "one", "--count", "1", "-o", "yaml")
    assert shell("delete", "configmap", "one") == "configmap/one deleted\n"
    assert shell("delete", "-f", files, "--ignore-not-found") == "configmap/two deleted\n"


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ("{kind: ConfigMap, metadata: {name: 5}}", "metadata.name must be a string, got 5"),
        ("{kind: ConfigMap, metadata: {name: a, namespace: 5}}", "metadata.namespace must be a"),
        ("{kind: ConfigMap, metadata: {name: a, namespace: [b]}}", "metadata.namespace must be a"),
        ("{kind: 7, metadata: {name: a}}", "kind must be a string, got 7: write it in quotes"),
        ("{kind: ConfigMap, metadata: []}", "metadata.name is required"),
        ("{kind: List, items: 5}", "items must be a list, got 5"),
    ],
)
def test_a_manifest_with_a_member_of_another_type_is_refused_by_name(
    shell: Shell, tmp_path: Path, manifest: str, text: str
) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(f"{{apiVersion: v1, {manifest[1:]}\n")
    for command in ("apply", "delete"):
        assert f"odd.yaml, document 1: {text}" in shell(command, "-f", str(file), code=2)


def test_names_are_shown_in_their_order_and_missing_ones_reported(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    rows = shell("get", "cm", "two", "one").splitlines()
    assert [row.split()[0] for row in rows] == ["NAME", "two", "one"]
    assert (
        shell("get", "cm/two", "ns/default", "-o", "name") == "configmap/two\nnamespace/default\n"
    )
    tables = shell("get", "cm/two", "ns/default", "cm/one").split("\n\n")
    assert [table.splitlines()[1].split()[0] for table in tables] == ["two", "default", "one"]
    arguments = ["--kubeconfig", str(shell.kubeconfig), "cm", "absent", "one", "lost", "two"]
    assert run(["get", *arguments]) == 1
    done = shell.read()
    assert [row.split()[0] for row in done.out.splitlines()] == ["NAME", "one", "two"]
    assert [line.split('"')[1] for line in done.err.splitlines()] == ["absent", "lost"]
    assert run(["get", *arguments, "-o", "json"]) == 1
    names = [each["metadata"]["name"] for each in json.loads(shell.read().out)["items"]]
    assert names == ["one", "two"]
    assert run(["describe", *arguments]) == 1
    done = shell.read()
    heads = [line.split()[1] for line in done.out.splitlines() if line.startswith("Name:")]
    assert heads == ["one", "two"]
    assert [line.split('"')[1] for line in done.err.splitlines()] == ["absent", "lost"]


def test_json_of_a_kind_is_a_list_however_many_there_are(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    for labels, names in (("app=a", ["one"]), ("app=none", [])):
        listed = json.loads(shell("get", "cm", "-l", labels, "-o", "json"))
        assert listed["kind"] == "List"
        assert [each["metadata"]["name"] for each in listed["items"]] == names


def test_commands_that_read_load_no_event_loop(kubeconfig: Path) -> None:
    program = (
        "import sys; from quarterdeck.cli.main import run;"
        "codes = [run([*line.split(), '--kubeconfig', sys.argv[1]]) for line in sys.argv[2:]];"
        "print(codes, *sorted({'asyncio', 'inspect', 'shutil'} & set(sys.modules)))"
    )
    lines = ("get cm", "describe cm kube-root-ca.crt", "events", "version")
    command = [sys.executable, "-c", program, str(kubeconfig), *lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("NAME ")
    assert done.stdout.count("kube-root-ca.crt") >= 2
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0]"


def test_what_get_is_refused_without_a_loop_it_asks_again_on_one(shell: Shell) -> None:
    assert 'configmaps "absent" not found' in shell("get", "cm", "absent", code=1)


def test_get_has_the_output_formats_of_kubectl(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    assert shell("get", "cm", "one", "-o", "jsonpath={.data.a}") == "1\n"
    names = shell("get", "cm", "-l", "app=a", "-o", 'jsonpath={.items[*].metadata.name}{"\\t"}end')
    assert names == "one\tend\n"
    rows = shell("get", "cm", "-o", "custom-columns=N:.metadata.name,A:.data.a").splitlines()
    assert rows[0].split() == ["N", "A"]
    assert ["one", "1"] in [row.split() for row in rows]
    assert ["two", "<none>"] in [row.split() for row in rows]
    assert shell("get", "namespaces", "-o", "wide").startswith("NAME")
    assert "did you mean" in shell("get", "cm", "-o", "jsonpth=x", code=2)
    assert "jsonpath=TEMPLATE" in shell("get", "cm", "-o", "jsonpath", code=2)
    lines = 'jsonpath={range .items[*]}{.metadata.name}={.data.a}{"\\n"}{end}'
    assert "one=1\n" in shell("get", "cm", "-o", lines)
    assert "no {end}" in shell("get", "cm", "-o", "jsonpath={range .items[*]}", code=2)
    assert "HEAD:PATH" in shell("get", "cm", "-o", "custom-columns=NAME", code=2)


@pytest.mark.parametrize(
    "form", ["name", "yaml", 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}']
)
def test_get_prints_no_line_for_objects_that_do_not_exist(shell: Shell, form: str) -> None:
    assert shell("get", "cm", "-l", "app=none", "-o", form) == ""


def test_a_kustomization_is_applied_and_deleted(shell: Shell, tmp_path: Path) -> None:
    if not (shutil.which("kubectl") or shutil.which("kustomize")):
        pytest.skip("neither kubectl nor kustomize is installed")
    (tmp_path / "kustomization.yaml").write_text("resources: [one.yaml]\nnamePrefix: my-\n")
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
    (tmp_path / "one.yaml").write_text(config)
    assert shell("apply", "-k", str(tmp_path)) == "configmap/my-one created\n"
    assert shell("delete", "-k", str(tmp_path)) == "configmap/my-one deleted\n"
    (tmp_path / "kustomization.yaml").write_text("resources: [none.yaml]\n")
    assert "cannot build kustomization" in shell("apply", "-k", str(tmp_path), code=1)
    assert "is not a folder" in shell("apply", "-k", str(tmp_path / "none"), code=2)


def test_a_kustomization_needs_a_program_that_builds_it(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "needs kubectl or kustomize" in shell("apply", "-k", str(tmp_path), code=2)
    assert "--filename, or a folder with --kustomize" in shell("apply", code=2)


def test_get_follows_changes(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    assert shell("get", "cm", "one", "-w", "--count", "1").split() == ["NAME", "DATA", "AGE"]
    assert "--watch of several kinds" in shell("get", "cm,ns", "-w", code=2)
    assert shell("get", "cm", "one", "-w", "-o", "jsonpath={.data.a}", "--count", "1") == "1\n"
    assert shell("get", "cm", "one", "-w", "-o", "name", "--count", "1") == "configmap/one\n"
    change = shell("get", "cm", "one", "-w", "--json", "--count", "1")
    assert json.loads(change)["type"] == "ADDED"


def test_get_all_shows_what_the_category_holds(shell: Shell, tmp_path: Path) -> None:
    assert shell("get", "all", "-n", "kube-public") == "No resources found.\n"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    (tmp_path / "s.json").write_text(json.dumps({**service, "spec": {"ports": [{"port": 80}]}}))
    shell("apply", "-f", str(tmp_path), "-n", "kube-public")
    told = shell("get", "all", "-n", "kube-public")
    assert "web" in told
    assert "No " not in told
    assert shell("get", "all", "-n", "kube-public", "-o", "name") == "service/web\n"


def test_an_object_that_is_refused_does_not_stop_the_others(shell: Shell, tmp_path: Path) -> None:
    refused = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Upper}\n---\n"
    (tmp_path / "maps.yaml").write_text(refused + WIDGETS)
    arguments = ["apply", "-f", str(tmp_path), "--kubeconfig", str(shell.kubeconfig)]
    assert run(arguments) == 1
    done = shell.read()
    assert done.out == "configmap/one created\nconfigmap/two created\n"
    assert done.err.startswith("quarterdeck apply: the server answered 422 Invalid: ")


@pytest.mark.parametrize("command", ["apply", "delete"])
def test_a_manifest_of_another_namespace_is_refused(
    shell: Shell, tmp_path: Path, command: str
) -> None:
    other = WIDGETS.replace("{name: two}", "{name: two, namespace: kube-public}")
    (tmp_path / "maps.yaml").write_text(other)
    message = shell(command, "-f", str(tmp_path), "-n", "default", code=2)
    assert 'ConfigMap two is in namespace "kube-public", not in "default"' in message
    assert shell("get", "configmap", "-o", "name").count("/one") == 0


def test_the_namespace_of_an_object_that_has_none_is_not_compared(
    shell: Shell, tmp_path: Path
) -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
    role += "metadata: {name: viewer-of-nothing, namespace: kube-public}\nrules: []\n"
    (tmp_path / "role.yaml").write_text(role)
    name = "clusterrole.rbac.authorization.k8s.io/viewer-of-nothing"
    assert shell("apply", "-f", str(tmp_path), "-n", "default") == f"{name} created\n"
    assert shell("delete", "-f", str(tmp_path), "-n", "default") == f"{name} deleted\n"


def test_manifests_come_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(WIDGETS.encode()))
    monkeypatch.setattr("sys.stdin", given)
    assert "one created" in shell("apply", "-f", "-", "-n", "kube-public")
    assert "one" in shell("get", "cm", "-n", "kube-public")


def test_events_are_sorted_filtered_and_bounded(shell: Shell, tmp_path: Path) -> None:
    assert shell("events") == "No events found.\n"
    documents = [
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"e{number}"},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": f"p{number}"},
            "type": "Warning" if number else "Normal",
            "reason": "R",
            "message": "two\nlines",
            "lastTimestamp": f"2026-01-01T00:00:0{9 - number}Z",
            "count": 3,
        }
        for number in range(3)
    ]
    (tmp_path / "events.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    )
    shell("apply", "-f", str(tmp_path / "events.json"))
    rows = shell("events").splitlines()[1:]
    assert ["p2" in rows[0], "p1" in rows[1], "p0" in rows[2]] == [True] * 3
    assert "two lines" in rows[0]
    assert len(shell("events", "--limit", "1").splitlines()) == 2
    assert "p0" not in shell("events", "--warnings", "-A")
    assert "p1" in shell("events", "--for", "pod/p1")
    for kind in ("po", "pods", "Pod"):
        assert "p1" in shell("events", "--for", f"{kind}/p1")
    assert "No events" in shell("events", "--for", "pods/nobody")
    assert "No events" in shell("events", "--for", "ingresses/p1")
    assert "No events" in shell("events", "--for", "unknown/p1")
    (event,) = json.loads(shell("events", "--for", "pod/p1", "-o", "json"))["items"]
    assert event["reason"] == "R"
    assert json.loads(shell("events", "--for", "pod/nobody", "-o", "json"))["items"] == []
    assert shell("events", "-o", "name") == "event/e2\nevent/e1\nevent/e0\n"


def test_events_of_one_second_are_in_the_order_they_were_written(
    shell: Shell, tmp_path: Path
) -> None:
    documents = [
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name},
            "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
            "lastTimestamp": "2026-01-01T00:00:00Z",
        }
        for name in ("z-first", "a-second")
    ]
    for document in documents:
        (tmp_path / "event.json").write_text(json.dumps(document))
        shell("apply", "-f", str(tmp_path / "event.json"))
    assert shell("events", "-o", "name") == "event/z-first\nevent/a-second\n"


def test_version_prints_client_and_server(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert "v1." in shell("version")
    assert json.loads(shell("version", "-o", "json"))["error"] == ""
    assert yaml.load(shell("version", "-o", "yaml")) == json.loads(shell("version", "--json"))
    assert "must be one of table, yaml, json" in shell("version", "-o", "name", code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        pytest.param(["get", "nothing"], 1, "nothing", id="kind"),
        pytest.param(["get", "cm", "none"], 1, "404", id="object"),
        pytest.param(["get", "cm", "x", "-A"], 2, "--namespace", id="everywhere"),
        pytest.param(["get", "cm/x", "y"], 2, "'y': give KIND NAME", id="two forms"),
        pytest.param(["get", "cm", "cm/x"], 2, "'cm/x': give KIND NAME", id="kind twice"),
        pytest.param(["get", "cm", "x", "y", "-w"], 2, "give one", id="watch of two names"),
        pytest.param(["get", "cm,ns", "y"], 2, "of several kinds", id="a name of two kinds"),
        pytest.param(["get", "cm,nothing"], 1, "nothing", id="one of two kinds"),
        pytest.param(["get", "cm", "--what"], 2, "--what", id="flag"),
        pytest.param(["delete", "cm"], 2, "--filename", id="delete what"),
        pytest.param(["delete", "cm", "none"], 1, "", id="delete nobody"),
        pytest.param(["delete", "cm", ""], 2, "give KIND and NAME", id="delete an empty name"),
        pytest.param(["delete", "cm", "x", ""], 2, "give KIND and NAME", id="one empty name"),
        pytest.param(["delete", "cm", ".."], 2, "invalid name '..'", id="delete dots"),
        pytest.param(["delete", "cm", "x/y"], 2, "'x/y': give KIND NAME", id="delete a path"),
        pytest.param(["apply", "-f", "/nowhere"], 2, "/nowhere", id="file"),
        pytest.param(["events", "--for", "x"], 2, "KIND/NAME", id="about"),
        pytest.param(["events", "--limit", "0"], 2, "--limit", id="no events"),
    ],
)
def test_mistakes_have_a_code_and_a_line(
    shell: Shell, arguments: list[str], code: int, word: str
) -> None:
    line = shell(*arguments, code=code)
    assert word in line
    assert "Traceback" not in line


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("a: [", "YAML", id="yaml"),
        pytest.param("- 1\n", "expected a mapping", id="list"),
        pytest.param("kind: A\n", "apiVersion", id="version"),
        pytest.param("apiVersion: v1\nkind: A\n", "metadata.name", id="name"),
        pytest.param(
            "apiVersion: a/b/c\nkind: A\nmetadata: {name: a}\n",
            "document 1: apiVersion must be VERSION or GROUP/VERSION, got 'a/b/c'",
            id="three parts",
        ),
        pytest.param("---\n", "no objects", id="empty"),
    ],
)
def test_bad_manifests_name_what_is_missing(
    shell: Shell, tmp_path: Path, text: str, word: str
) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    assert word in shell("apply", "-f", str(tmp_path / "bad.yaml"), code=2)


# --- commands that need no server


def run_command(capture: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    done = capture.readouterr()
    return done.out if code == 0 else done.err


def test_usage_is_printed_and_unknown_commands_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "commands:" in run_command(capsys, "--help")
    assert run_command(capsys, "--version").startswith("quarterdeck ")
    assert "nonsense" in run_command(capsys, "nonsense", code=2)


def test_definitions_and_manifests_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    names = run_command(capsys, "crds", "--operators", "applications", "-o", "name")
    assert names == "applications.cloudnative.elide.dev\n"
    assert "openAPIV3Schema" in run_command(capsys, "crds")
    assert "Deployment/quarterdeck-manager" in run_command(capsys, "manifests", "-o", "name")
    assert "mine:1" in run_command(capsys, "manifests", "--image", "mine:1", "-n", "here")
    assert "kind: Application" in run_command(capsys, "manifests", "--samples")
    assert "applications" in run_command(capsys, "crds", "--operators", "x", code=2)
    assert "'A B'" in run_command(capsys, "manifests", "-n", "A B", code=2)


def test_expressions_are_evaluated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "self.yaml").write_text("a: [1, 2]\n")
    name = str(tmp_path / "self.yaml")
    assert "value  2" in run_command(capsys, "cel", "size(self.a)", "-f", name)
    assert json.loads(run_command(capsys, "cel", "1 + 1", "-o", "json"))["value"] == 2
    run_command(capsys, "cel", "1 +", code=1)
    assert "--filename" in run_command(capsys, "cel", "self.a", code=1)
    run_command(capsys, "cel", "self", "-f", "/nowhere", code=2)


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(
    shell_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "__complete" in run_command(capsys, "completion", shell_name)


def test_completion_knows_its_shells(capsys: pytest.CaptureFixture[str]) -> None:
    assert "fish" in run_command(capsys, "completion", "tcsh", code=2)


def test_the_reference_page_names_every_flag() -> None:
    from quarterdeck.app.resolution import list_fields
    from quarterdeck.cli.reference import render_page

    text = "\n".join(render_page())
    assert all(f"`{field.flag}`" in text for field in list_fields())


def test_doctor_checks_the_installation(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quarterdeck.yaml").write_text("port: 0\nhealthPort: 0\n")
    flags = [word for flag in PORT_FLAGS[1:-1] for word in (flag, "0")]
    run(["doctor", *flags])
    table = capsys.readouterr().out
    assert "file quarterdeck.yaml" in table and "flag --http-port" in table
    (tmp_path / "quarterdeck.yaml").write_text("port: x\n")
    assert "'x'" in run_command(capsys, "doctor", code=2)


def test_why_needs_somebody_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--limit" in run_command(capsys, "why", "application", "x", "--limit", "0", code=2)
    line = run_command(capsys, "why", "application/web", "--health", "http://127.0.0.1:9", code=1)
    assert "--health" in line
    assert "NAME" in run_command(capsys, "why", "application", code=2)
    line = run_command(capsys, "why", "application/web", "--health", "zebra", code=2)
    assert "invalid --health 'zebra': expected an address such as http://127.0.0.1:8081" in line


def test_get_prints_nothing_before_it_follows_on_a_loop(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    following = get("namespaces", follow=True, kubeconfig=str(kubeconfig))
    with pytest.raises(EventLoopRequired):
        run_without_loop(following)
    assert capsys.readouterr().out == ""


def test_objects_are_deleted_by_one_word(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    deleted = json.loads(shell("delete", "cm/one", "--json"))
    assert deleted == {"object": "configmap/one", "result": "deleted"}
    assert "configmap/one not found" in shell("delete", "cm/one", code=1)
    assert shell("delete", "cm/one", "--ignore-not-found") == ""
    shell("apply", "-f", files)
    assert shell("delete", "cm/one", "cm/two") == "configmap/one deleted\nconfigmap/two deleted\n"
    assert run(["delete", "cm/one", "--json", "--kubeconfig", str(shell.kubeconfig)]) == 1
    assert json.loads(shell.read().out) == {"object": "configmap/one", "result": "not found"}


def test_a_refused_deletion_does_not_stop_the_others(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    targets = ["ns/default", "cm/one", "cm/two"]
    assert run(["delete", *targets, "--kubeconfig", str(shell.kubeconfig)]) == 1
    done = shell.read()
    assert done.out == "configmap/one deleted\nconfigmap/two deleted\n"
    expected = "quarterdeck delete: namespace/default: the server answered 403 Forbidden: "
    assert done.err.startswith(expected)


def test_objects_of_unknown_kinds_are_gone_already(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("apiVersion: example.org/v1\nkind: Other\nmetadata: {name: a}\n---\n")
    assert shell("delete", "-f", str(file), "--ignore-not-found") == ""
    assert 'no matches for kind "Other" in version "example.org/v1": install its' in (
        shell("delete", "-f", str(file), code=1)
    )


def test_changes_are_counted_and_written_in_every_form(shell: Shell, files: str) -> None:
    shell("apply", "-f", files)
    lines = shell("watch", "cm", "--count", "2").splitlines()
    assert len(lines) == 2
    text = shell("get", "cm", "one", "--watch", "--count", "1", "-o", "yaml")
    assert yaml.load(text.encode())["metadata"]["name"] == "one"
    document = json.loads(shell("get", "cm", "one", "--watch", "--count", "1", "-o", "json"))
    assert document["type"] == "ADDED"
    names = shell("get", "cm", "--watch", "--count", "2", "-o", "name").split()
    assert len(names) == 2
    table = shell("get", "cm", "one", "--watch", "--count", "2").splitlines()
    assert [line.split()[0] for line in table] == ["NAME", "one"]


def test_cluster_of_the_working_directory_is_found(
    kubeconfig: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / ".quarterdeck").mkdir()
    shutil.copy(kubeconfig, tmp_path / ".quarterdeck" / "kubeconfig")
    monkeypatch.chdir(tmp_path)
    assert run(["get", "ns", "default", "-o", "name"]) == 0
    assert capsys.readouterr().out == "namespace/default\n"
    assert list_contexts() == list_contexts(str(kubeconfig)) != []
