"""`quarterdeck metrics preview` on files and on a server."""

import json
from pathlib import Path

import pytest

from quarterdeck.cli.main import run
from quarterdeck.kit import yaml

SAMPLES = Path(__file__).parents[3] / "config" / "samples"
CLAIMS = str(SAMPLES / "clusterpulse_v1alpha1_metricsource_default-pvc-capacity.yaml")
USAGE = str(SAMPLES / "clusterpulse_v1alpha1_metricsource_pvc-usage.yaml")
OBJECTS = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec:
  storageClassName: gp3
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 5Gi}}
status: {phase: Bound, capacity: {storage: 5Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hidden, namespace: kube-system}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
"""


@pytest.fixture
def objects(tmp_path: Path) -> str:
    path = tmp_path / "objects.yaml"
    path.write_text(OBJECTS)
    return str(path)


def test_objects_of_a_file_become_a_table(objects: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics", "preview", CLAIMS, "--objects", objects]) == 0
    rows, summary, aggregations = capsys.readouterr().out.split("\n\n")
    head, *lines = [line.split() for line in rows.splitlines()]
    assert head[:4] == ["NAMESPACE", "NAME", "PHASE", "CAPACITY"]
    assert lines[0][:3] == ["default", "data", "Bound"]
    assert lines[0][3:6] == ["5368709120", "5368709120", "gp3"]
    assert lines[0][6:] == ["ReadWriteOnce", "Filesystem", "5"]
    assert len(lines) == 1
    assert summary == "1 object"
    assert ["capacityByStorageClass", "gp3", "5368709120"] in [
        line.split() for line in aggregations.splitlines()
    ]


def test_json_has_everything(objects: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics", "preview", USAGE, "--objects", objects, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["resourceCount"] == 2
    assert found["resources"][0]["values"]["usage_percent"] == 100.0
    assert found["resources"][0]["_id"] == "default/data"
    assert {each["status"] for each in found["fieldValidation"]} == {"valid"}


def test_alert_rules_that_hold_are_shown(
    objects: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [source] = yaml.load_all(Path(CLAIMS).read_text())
    source["spec"]["alerts"] = [
        {"name": "Any", "expression": "total > 0", "severity": "info", "message": "there are some"},
        {"name": "Big", "expression": "capacityByStorageClass > 1", "forSeconds": 600},
        {"name": "None", "expression": "total == 0"},
    ]
    path = tmp_path / "source.yaml"
    path.write_text(yaml.dump_all([source]))
    assert run(["metrics", "preview", str(path), "--objects", objects]) == 0
    shown = capsys.readouterr().out.split("\n\n")[3]
    assert [line.split(maxsplit=2) for line in shown.splitlines()] == [
        ["ALERT", "SEVERITY", "MESSAGE"],
        ["Any", "info", "there are some (total = 1)"],
        [
            "Big",
            "warning",
            "gp3: capacityByStorageClass > 1 (capacityByStorageClass = 5368709120)",
        ],
    ]


def test_rows_are_bounded(objects: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["metrics", "preview", USAGE, "--objects", objects, "--rows", "1"]) == 0
    assert "2 objects, 1 shown" in capsys.readouterr().out


def test_objects_of_a_cluster_are_found_by_discovery(
    kubeconfig: Path, objects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = ["--kubeconfig", str(kubeconfig)]
    assert run(["apply", "-f", objects, *server]) == 0
    capsys.readouterr()
    assert run(["metrics", "preview", CLAIMS, *server, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["_id"] for row in found["resources"]] == ["default/data"]
    assert found["aggregations"]["total"] == 1


def test_problems_are_shown_with_their_place(
    tmp_path: Path, objects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(Path(CLAIMS).read_text().replace("round(capacity", "rond(capacity"))
    assert run(["metrics", "preview", str(bad), "--objects", objects]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "unknown function 'rond' at column 1; did you mean round?" in lines[0]
    assert lines[2] == "  ^"
    assert lines[-1].endswith("default-pvc-capacity cannot be compiled: 1 problem")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        pytest.param([CLAIMS, "--objects", "/nowhere"], 2, "--objects", id="no objects"),
        pytest.param(["/nowhere"], 2, "FILE", id="no file"),
        pytest.param(["{objects}"], 2, "no MetricSource", id="no source"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str],
    code: int,
    word: str,
    objects: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [each.replace("{objects}", objects) for each in arguments]
    assert run(["metrics", "preview", *given]) == code
    assert word in capsys.readouterr().err


def test_a_manifest_that_does_not_fit_the_schema_is_refused(
    tmp_path: Path, objects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(Path(CLAIMS).read_text().replace("type: quantity", "type: amount", 1))
    assert run(["metrics", "preview", str(bad), "--objects", objects]) == 1
    assert "spec.fields[1].type" in capsys.readouterr().err


def test_every_form_of_output_names_the_objects(
    objects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["metrics", "preview", USAGE, "--objects", objects]
    assert run([*command, "-o", "yaml"]) == 0
    assert yaml.load(capsys.readouterr().out.encode())["resourceCount"] == 2
    assert run([*command, "-o", "name"]) == 0
    assert capsys.readouterr().out == "default/data\nkube-system/hidden\n"
    assert run([*command, "--rows", "0"]) == 0
    assert capsys.readouterr().out == "2 objects, 0 shown: use --rows for more\n"


def test_objects_beyond_the_limit_and_fields_without_values_are_mentioned(
    tmp_path: Path, objects: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source.yaml"
    text = Path(USAGE).read_text()
    text = text.replace("  fields:", "  collection: {maxResources: 1}\n  fields:", 1)
    text = text.replace(".status.capacity.storage", ".status.capacity.stroage")
    text += "  aggregations:\n  - {name: total, function: count}\n"
    source.write_text(text)
    assert run(["metrics", "preview", str(source), "--objects", objects]) == 0
    rows, summary, aggregations, doubts = capsys.readouterr().out.strip().split("\n\n")
    assert rows.splitlines()[1].split()[:3] == ["default", "data", "<none>"]
    assert summary == "1 object; collection.maxResources is reached"
    assert aggregations.split() == ["AGGREGATION", "VALUE", "total", "1"]
    assert doubts.splitlines()[1].split()[0] == "used"


def test_file_without_objects_of_the_kind_names_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "maps.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    assert run(["metrics", "preview", USAGE, "--objects", str(file)]) == 1
    assert (
        "no PersistentVolumeClaim of v1 found in the files of --objects; found: v1 ConfigMap"
        in (capsys.readouterr().err)
    )
