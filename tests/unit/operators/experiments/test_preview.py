"""Plans of experiments before anything exists, and trees of what there is."""

import msgspec
from tests.unit.operators.experiments.samples import component, experiment

from quarterdeck.operators.experiments import tree
from quarterdeck.operators.experiments.foreign import ArgoApplication
from quarterdeck.operators.experiments.naming import LABEL_TARGET
from quarterdeck.operators.experiments.preview import describe, preview
from quarterdeck.operators.experiments.settings import Settings

SETTINGS = Settings()
CATALOG = {name: component(name) for name in ("web", "load")}
APP = {"name": "app", "cluster": {"type": "gke"}, "components": [{"app": "web"}]}
LOADGEN = {
    "name": "loadgen",
    "cluster": {"type": "hub"},
    "components": [{"app": "load", "params": {"url": "http://${targets.app.endpoint}/"}}],
    "depends": ["app"],
}


def test_objects_are_listed_in_the_order_of_creation() -> None:
    found = preview(experiment("demo", LOADGEN, APP), CATALOG, SETTINGS)
    assert found.problems == ()
    assert [[each.target.name for each in level] for level in found.levels] == [
        ["app"],
        ["loadgen"],
    ]
    assert [(each["kind"], each["metadata"]["name"]) for each in found.documents] == [
        ("GKECluster", "demo-app"),
        ("Application", "demo-app-web"),
        ("Application", "demo-loadgen-load"),
        ("Workflow", "demo-validation"),
    ]
    assert "<address of demo-app>" in str(found.documents[2])
    lines = describe(found, SETTINGS)
    assert "    target app: gke, 1 x e2-medium, 0.0335 USD per hour" in lines
    assert "    target loadgen after app: hub" in lines
    assert "  cost: 0.0335 USD per hour, at most 0.80 USD in 24 h" in lines


def test_all_errors_are_shown_and_nothing_else() -> None:
    loop = {"name": "app", "cluster": {"type": "hub"}, "depends": ["app"]}
    missing = {"name": "b", "cluster": {"type": "hub"}, "components": [{"app": "nothing"}]}
    found = preview(experiment("demo", loop, missing), CATALOG, SETTINGS)
    assert len(found.problems) == 2
    assert found.levels == ()


def test_a_plan_says_how_a_manual_experiment_ends() -> None:
    manual = {"template": "t", "completion": {"mode": "manual"}}
    found = preview(experiment("demo", repeats=3, workflow=manual), CATALOG, SETTINGS)
    text = "\n".join(describe(found, SETTINGS))
    assert "quarterdeck experiments resume demo -n experiments" in text
    assert "3 times" in text
    assert "cost: none by the hour" in text


def test_a_tree_shows_targets_applications_and_results() -> None:
    found = experiment(
        "demo",
        status={
            "phase": "Failed",
            "reason": "WorkflowFailed",
            "message": "step failed",
            "targets": [{"name": "app", "phase": "Ready", "clusterName": "hub"}],
            "workflowStatus": {"name": "w", "phase": "Failed", "outputs": {"a": "1"}},
            "resultsURL": "file:///results/",
            "hypothesisResult": "invalidated",
            "costEstimate": {"totalUSD": "0.1"},
            "resourcesCleaned": True,
        },
    )
    app = msgspec.convert(
        {
            "metadata": {"name": "demo-app-web", "labels": {LABEL_TARGET: "app"}},
            "status": {
                "health": {"status": "Healthy"},
                "sync": {"status": "Synced"},
                "resources": [{"kind": "Service", "name": "web"}],
            },
        },
        ArgoApplication,
    )
    assert tree.draw(tree.build(found, [app])) == [
        "Experiment experiments/demo  Failed  WorkflowFailed: step failed",
        "├─ target app (hub)  Ready",
        "│  └─ Application demo-app-web  Healthy  Synced",
        "│     └─ Service/web",
        "├─ Workflow w  Failed",
        "│  └─ output a=1",
        "├─ hypothesis invalidated",
        "├─ cost 0.1 USD",
        "├─ results file:///results/",
        "└─ all created objects are deleted",
    ]


def test_a_tree_of_a_new_experiment_shows_what_is_to_come() -> None:
    found = experiment(
        "demo",
        status={
            "targets": [{"name": "app", "components": ["web", "load"]}],
            "runs": [{"name": "w-1", "phase": "Succeeded"}],
            "workflowStatus": {"name": "w-1", "phase": "Succeeded"},
        },
    )
    assert tree.draw(tree.build(found, [])) == [
        "Experiment experiments/demo  Pending",
        "├─ target app (hub)  Pending",
        "│  ├─ web",
        "│  └─ load",
        "└─ Workflow w-1  Succeeded",
    ]
