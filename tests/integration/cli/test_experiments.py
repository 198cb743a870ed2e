"""`quarterdeck experiments` against a hub with the operator and simulators."""

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.integration.operators.experiments.world import World, experiment, running, target

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.cli.commands.experiments.rerun import RERUN_OF, find_free_name
from quarterdeck.cli.main import run
from quarterdeck.kit import yaml
from quarterdeck.operators.experiments.drivers.result_stores import ConfigMaps
from quarterdeck.operators.experiments.ports import Collected, FinishedRun
from quarterdeck.operators.experiments.results import Collector

API = "experiments.illm.io/v1alpha1"
MANUAL = {"template": "smoke", "completion": {"mode": "manual"}}


class LateResults:
    """A collector that needs the client of a hub which starts later."""

    def __init__(self) -> None:
        self.collector: Collector | None = None

    async def collect(self, finished: FinishedRun) -> Collected:
        assert self.collector is not None
        return await self.collector.collect(finished)


class Shell:
    """Calls commands in a thread, while the hub goes on."""

    def __init__(self, world: World, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture
        self._kubeconfig = folder / "kubeconfig"
        self._kubeconfig.write_text(
            yaml.dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "c",
                    "contexts": [
                        {
                            "name": "c",
                            "context": {"cluster": "c", "user": "", "namespace": "experiments"},
                        }
                    ],
                    "clusters": [{"name": "c", "cluster": {"server": world.client.config.server}}],
                }
            )
        )

    async def __call__(self, *arguments: str, code: int = 0) -> str:
        options = ["experiments", *arguments, "--kubeconfig", str(self._kubeconfig)]
        found = await asyncio.to_thread(run, options)
        done = self._capture.readouterr()
        assert found == code, done
        return done.out + done.err

    def write(self, name: str, *documents: dict[str, Any]) -> str:
        path = self.folder / name
        path.write_text(yaml.dump_all(documents))
        return str(path)


def manifest(name: str, *targets: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "Experiment", **experiment(name, *targets, **spec)}


async def test_plan_run_tree_rerun_and_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = LateResults()
    async with running(results=results) as world:
        results.collector = Collector(ConfigMaps(world.client))
        await world.template("smoke", outputs='{"metric.p99": "0.4"}')
        await world.component("web")
        shell = Shell(world, tmp_path, capsys)
        criteria = [{"metric": "p99", "operator": "lt", "value": "0.5"}]
        file = shell.write(
            "demo.yaml",
            manifest(
                "demo",
                target("app", "gke", "web"),
                metrics=[{"name": "p99", "query": "p99"}],
                hypothesis={"claim": "fast", "successCriteria": criteria},
            ),
        )
        planned = await shell("plan", file)
        assert "GKECluster demo-app" in planned
        assert "Application demo-app-web" in planned
        names = await shell("plan", file, "-o", "name")
        assert names.splitlines()[0] == "gkecluster.illm.io/demo-app"
        assert await world.leftovers() == []

        typo = {"template": "smok", "completion": {"mode": "workflow"}}
        wrong = shell.write("typo.yaml", manifest("typo", workflow=typo))
        assert "Not found: argo-workflows/smok" in await shell("plan", wrong, code=1)

        junit, report = tmp_path / "j.xml", tmp_path / "r.json"
        done = await shell("run", file, "--watch", "--junit", str(junit), "--json", str(report))
        assert "demo  Complete" in done
        assert "hypothesis: validated" in done
        assert ElementTree.parse(junit).getroot()[0].attrib["failures"] == "0"
        assert json.loads(report.read_bytes())["verdict"] == "validated"
        refusal = await shell("run", file, code=1)
        assert "rerun demo" in refusal
        assert "to run a changed file, change metadata.name in it, or delete" in refusal

        shown = await shell("tree", "demo")
        assert "├─ target app (gke demo-app)  Ready" in shown
        assert "output metric.p99=0.4" in shown

        again = await shell("rerun", "demo", "--repeats", "4", "--watch")
        assert "compare demo demo-2" in again
        second = await world.client.get(Experiment, "demo-2", "experiments")
        assert second.metadata.annotations[RERUN_OF] == "demo"
        assert second.spec.repeats == 4
        table = await shell("compare", "demo", "demo-2", "--fail-on-regression")
        assert table.splitlines()[1].split()[0] == "p99"
        assert table.splitlines()[1].split()[-1] == "same"
        compared = json.loads(await shell("compare", "demo", "demo-2", "-o", "json"))
        assert compared["metrics"][0]["countB"] == 4


async def test_resume_ends_a_manual_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running() as world:
        await world.template("smoke")
        shell = Shell(world, tmp_path, capsys)
        await shell("run", shell.write("lesson.yaml", manifest("lesson", workflow=MANUAL)))
        await world.until("lesson", lambda each: each.status.reason == "AwaitingResume")
        assert "wait until it has ended" in await shell("rerun", "lesson", code=1)
        assert "lesson  Complete" in await shell("resume", "lesson", "--watch")
        assert "is Complete already" in await shell("resume", "lesson", code=1)
        await shell("run", shell.write("auto.yaml", manifest("auto")), "--watch")
        assert "ends by itself" in await shell("resume", "auto", code=1)
        assert "has no results" in await shell("compare", "lesson", "auto", code=1)


async def test_a_failed_run_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running() as world:
        await world.template("smoke")
        shell = Shell(world, tmp_path, capsys)
        failing = manifest("bad", annotations={"sim.illm.io/workflow-fail": "fail"})
        junit = tmp_path / "j.xml"
        done = await shell("run", shell.write("bad.yaml", failing), "--junit", str(junit), code=1)
        assert "bad  Failed  WorkflowFailed" in done
        assert ElementTree.parse(junit).getroot()[0].attrib["failures"] == "1"


# --- without a hub


def write(path: Path, *documents: dict[str, Any]) -> str:
    path.write_text(yaml.dump_all(documents))
    return str(path)


def test_plan_offline_shows_every_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = manifest("demo", target("app", "hub", "nothing", depends=["app", "other"]))
    assert run(["experiments", "plan", "--offline", write(tmp_path / "x.yaml", broken)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Experiment experiments/demo: 3 errors"
    assert any("spec.targets[0].components[0].app" in line for line in lines)


def test_plan_names_parameters_of_the_workflow_that_have_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = [
        {"name": "url"},
        {"name": "users", "value": "5"},
        {"name": "region", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        {"name": "experiment-name"},
    ]
    template = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "load"},
        "spec": {"arguments": {"parameters": parameters}},
    }
    workflow: dict[str, Any] = {"template": "load", "completion": {"mode": "workflow"}}
    plan = ["experiments", "plan", "--offline"]
    without = manifest("demo", target("app", "hub"), workflow=workflow)
    assert run([*plan, write(tmp_path / "x.yaml", template, without)]) == 1
    assert capsys.readouterr().err.strip() == (
        "spec.workflow.params.url: Required value: WorkflowTemplate argo-workflows/load has no "
        "default for it"
    )
    workflow = {**workflow, "params": {"url": "http://web/"}}
    complete = manifest("demo", target("app", "hub"), workflow=workflow)
    assert run([*plan, write(tmp_path / "y.yaml", template, complete)]) == 0


def test_plan_tells_that_a_price_is_assumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (machine, is_assumed) in enumerate((("e2-medium", False), ("c4-huge-1", True))):
        wanted = target("app", "gke")
        wanted["cluster"]["machineType"] = machine
        file = write(tmp_path / f"{number}.yaml", manifest("demo", wanted))
        assert run(["experiments", "plan", "--offline", file]) == 0
        assert ("(assumed: the price" in capsys.readouterr().out) is is_assumed


def test_a_rerun_has_at_least_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiments", "rerun", "first", "--repeats", "0"]) == 2
    assert "--repeats: 0 must be at least 1" in capsys.readouterr().err


def test_plan_offline_uses_components_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = {"repoURL": "https://charts.example.com", "chart": "web", "targetRevision": "1.0.0"}
    component = {
        "apiVersion": API,
        "kind": "Component",
        "metadata": {"name": "web"},
        "spec": {"type": "app", "sources": [source]},
    }
    file = write(tmp_path / "x.yaml", component, manifest("demo", target("app", "hub", "web")))
    assert run(["experiments", "plan", "--offline", file, "-o", "yaml"]) == 0
    planned = list(yaml.load_all(capsys.readouterr().out))
    assert [each["kind"] for each in planned] == ["Application", "Workflow"]


def test_a_manifest_that_does_not_fit_the_schema_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = manifest("demo", target("app", "moon"))
    assert run(["experiments", "plan", "--offline", write(tmp_path / "x.yaml", broken)]) == 1
    assert "spec.targets[0].cluster.type" in capsys.readouterr().err
    assert (
        run(
            [
                "experiments",
                "plan",
                "--offline",
                write(tmp_path / "y.yaml", {**broken, "kind": "X"}),
            ]
        )
        == 2
    )
    assert "no Experiment of experiments.illm.io/v1alpha1" in capsys.readouterr().err


def test_files_of_results_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = {"name": "a", "samples": {"p99": [1, 2, 3, 4, 5]}, "units": {"p99": "s"}}
    b = {"name": "b", "samples": {"p99": [11, 12, 13, 14, 15]}}
    (tmp_path / "a.json").write_text(json.dumps(a))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "summary.json").write_text(json.dumps(b))
    junit = tmp_path / "j.xml"
    runs = [str(tmp_path / "a.json"), str(tmp_path / "b")]
    assert run(["experiments", "compare", *runs]) == 0
    assert "regression" in capsys.readouterr().out
    failing = ["--fail-on-regression", "--junit", str(junit)]
    assert run(["experiments", "compare", *runs, *failing]) == 1
    assert ElementTree.parse(junit).getroot()[0].attrib["failures"] == "1"
    backwards = ["--fail-on-regression", "--higher-is-better", "p99"]
    assert run(["experiments", "compare", *runs, *backwards]) == 0
    capsys.readouterr()
    assert run(["experiments", "compare", *runs, "-o", "yaml", "--threshold", "5%"]) == 0
    assert "change: regression" in capsys.readouterr().out
    assert run(["experiments", "compare", *runs, "--threshold", "much"]) == 2
    assert run(["experiments", "compare", str(tmp_path / "none.json"), runs[1]]) == 2


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("demo", set(), "demo-2"),
        ("demo", {"demo-2"}, "demo-3"),
        ("demo-2", {"demo", "demo-2"}, "demo-3"),
        ("x" * 52, set(), "x" * 50 + "-2"),
    ],
)
def test_a_rerun_gets_the_next_free_name(name: str, taken: set[str], expected: str) -> None:
    assert find_free_name(name, taken) == expected


def test_plan_follows_the_settings_of_the_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    types = tmp_path / "types.yaml"
    types.write_text("gke: {apiVersion: platform.example.com/v1, kind: Shelf, plural: shelves}")
    source = {"repoURL": "https://charts.example.com", "chart": "web", "targetRevision": "1.0.0"}
    web = {
        "apiVersion": API,
        "kind": "Component",
        "metadata": {"name": "web"},
        "spec": {"type": "app", "sources": [source]},
    }
    both = manifest("demo", target("a", "gke", "web"), target("b", "vcluster"))
    monkeypatch.setenv("WORKFLOW_NAMESPACE", "flows")
    file = write(tmp_path / "x.yaml", web, both)
    flags = ["--argocd-namespace", "cd", "--cluster-api", "vcluster", "--cluster-types", str(types)]
    assert run(["experiments", "plan", "--offline", file, "-o", "yaml", *flags]) == 0
    planned = list(yaml.load_all(capsys.readouterr().out))
    assert [
        (each["apiVersion"].partition("/")[0], each["kind"], each["metadata"]["namespace"])
        for each in planned
    ] == [
        ("platform.example.com", "Shelf", "experiments"),
        ("infrastructure.cluster.x-k8s.io", "VCluster", "experiments"),
        ("argoproj.io", "Application", "cd"),
        ("argoproj.io", "Workflow", "flows"),
    ]
    assert run(["experiments", "plan", "--offline", file, "--cluster-api", "kind"]) == 2
    assert "invalid --cluster-api kind: must be one of talos, vcluster" in capsys.readouterr().err


async def test_an_experiment_of_another_namespace_is_hinted_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(experiment("here"))
        shell = Shell(world, tmp_path, capsys)
        for command in (["tree"], ["resume"], ["rerun"], ["compare", "here"]):
            shown = await shell(*command, "here", "-n", "argocd", code=1)
            assert "experiment argocd/here not found" in shown
            assert "it exists in namespace experiments: set it with -n" in shown
        assert "it exists in" not in await shell("tree", "nowhere", code=1)
