"""What references stand for, the order of deletions, and the Job after a run."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from tests.unit.operators.experiments.samples import component, experiment

from quarterdeck.apis.experiments.status import ExperimentStatus, TargetStatus
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.operators.experiments import naming, plan
from quarterdeck.operators.experiments.settings import Settings
from quarterdeck.operators.experiments.substitution import NotYet
from quarterdeck.operators.experiments.validation import validate

HUB = {"cluster": {"type": "hub"}}
FIRST: Mapping[str, Any] = {"name": "first", **HUB}
SECOND: Mapping[str, Any] = {"name": "second", "depends": ["first"], **HUB}
TUTORIAL = {"services": [{"name": "web", "target": "first", "service": "web", "namespace": "shop"}]}
KNOWN = {"services": [{"name": "web", "endpoint": "10.0.0.1"}]}


def status(name: str, **members: Any) -> TargetStatus:
    return TargetStatus(name=name, cluster_name=f"{name}-cluster", server="https://x", **members)


def find_pending(found: Experiment, *statuses: TargetStatus) -> set[str]:
    known = {each.name: each for each in statuses}
    return set(plan.build_scope(found, found.spec.targets[1], known).pending)


def test_target_is_pending_until_its_applications_are_ready() -> None:
    found = experiment("demo", FIRST, SECOND)
    second = status("second")
    assert find_pending(found, second) == {"first"}
    assert find_pending(found, second, status("first")) == {"first"}
    assert find_pending(found, second, status("first", apps_ready=True)) == set()


def test_target_is_pending_until_its_outputs_are_known() -> None:
    ready = (status("second"), status("first", apps_ready=True))
    waiting = experiment("demo", FIRST, SECOND, tutorial=TUTORIAL)
    assert find_pending(waiting, *ready) == {"first"}
    known = experiment("demo", FIRST, SECOND, tutorial=TUTORIAL, status={"tutorialStatus": KNOWN})
    assert find_pending(known, *ready) == set()
    scope = plan.build_scope(known, known.spec.targets[1], {each.name: each for each in ready})
    assert scope.targets["first"]["outputs.web"] == "10.0.0.1"
    assert scope.target["cluster"] == "second-cluster"
    assert scope.target["namespace"] == naming.build_base_name(known)


def test_workflow_has_no_target_of_its_own() -> None:
    found = experiment("demo", FIRST, SECOND)
    scope = plan.build_scope(found, None, {"first": status("first", apps_ready=True)})
    assert scope.target == {}
    assert scope.pending == {"second"}


def test_hub_is_reached_inside_the_cluster() -> None:
    assert plan.get_server(TargetStatus(name="a", cluster_name=naming.HUB, server="https://x")) == (
        "https://kubernetes.default.svc"
    )
    assert plan.get_server(status("a")) == "https://x"


def test_targets_that_others_depend_on_are_deleted_last() -> None:
    third = {"name": "third", "depends": ["first"], **HUB}
    found = experiment("demo", FIRST, SECOND, third)
    assert plan.order_deletion(found) == [["third", "second"], ["first"]]


def test_targets_of_a_wrong_graph_are_deleted_together() -> None:
    circle = {**FIRST, "depends": ["second"]}
    assert plan.order_deletion(experiment("demo", circle, SECOND)) == [["second", "first"]]


def test_request_for_a_cluster_leads_back_to_its_experiment() -> None:
    found = experiment("demo", FIRST)
    given = {"kind": "Cluster", "metadata": {"name": "c1", "labels": {"own": "yes"}}}
    labels = plan.with_labels(given, found, "first")["metadata"]["labels"]
    assert labels["own"] == "yes"
    assert labels[naming.LABEL_CLUSTER] == "c1"
    assert set(naming.build_labels(found, target="first").items()) <= set(labels.items())
    assert given["metadata"] == {"name": "c1", "labels": {"own": "yes"}}, "it is not changed"


def test_components_are_found_by_name() -> None:
    found = [component("a"), component("b")]
    assert plan.index_components(found) == {"a": found[0], "b": found[1]}


def test_components_are_recorded_with_the_parameters_of_the_spec() -> None:
    own = {"app": "web", "params": {"replicas": "2"}}
    found = experiment("demo", {**FIRST, "components": [own]})
    known = plan.index_components([component("web")])
    recorded, problems = plan.record_components(
        found, found.spec.targets[0], validate(found, known), known, Settings()
    )
    assert problems == []
    (web,) = recorded
    assert (web.name, web.kind, web.params) == ("web", "app", {"replicas": "2"})
    assert web.sources == known["web"].spec.sources


def build_job(**spec: Any) -> dict[str, Any] | None:
    settings = Settings(analyzer_image="example.org/analyzer")
    return plan.build_post_run_job(
        experiment("demo", **spec), results_url="s3://results/demo", settings=settings
    )


@pytest.mark.parametrize(
    "spec",
    [{}, {"publish": False}, {"publish": True, "analyzerConfig": {"sections": []}}],
    ids=["nothing", "not published", "no sections"],
)
def test_run_without_analysis_has_no_job(spec: dict[str, Any]) -> None:
    assert build_job(**spec) is None


def test_published_run_is_analyzed() -> None:
    job = build_job(publish=True, analyzerConfig={"sections": ["abstract", "targetAnalysis"]})
    assert job is not None
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "example.org/analyzer"
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "ANALYZER_SECTIONS": "abstract,targetAnalysis",
        "EXPERIMENT_NAME": "demo",
        "EXPERIMENT_NAMESPACE": "experiments",
        "RESULTS_URL": "s3://results/demo",
    }
    assert "serviceAccountName" not in pod
    assert job["spec"]["activeDeadlineSeconds"] == 900
    assert job["spec"]["backoffLimit"] == 1
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 65532
    assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_job_after_the_run_gets_addresses_of_targets() -> None:
    own = {"image": "example.org/own", "args": ["http://${targets.first.endpoint}/"]}
    found = experiment("demo", FIRST, postRun=own)
    early = ExperimentStatus(targets=(status("first"),))
    found = msgspec.structs.replace(found, status=early)
    with pytest.raises(NotYet):
        plan.build_post_run_job(found, results_url="", settings=Settings())
    ready = ExperimentStatus(targets=(status("first", endpoint="10.0.0.1:80", apps_ready=True),))
    found = msgspec.structs.replace(found, status=ready)
    job = plan.build_post_run_job(found, results_url="", settings=Settings())
    assert job is not None
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["http://10.0.0.1:80/"]


def test_own_job_gets_references_and_wins_over_the_analysis() -> None:
    own = {
        "image": "example.org/own",
        "command": ["sh", "-c"],
        "args": ["echo ${experiment.name}"],
        "env": {"WHERE": "${experiment.namespace}"},
        "serviceAccountName": "runner",
        "deadlineSeconds": 60,
    }
    job = build_job(publish=True, postRun=own)
    assert job is not None
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["image"], container["command"]) == ("example.org/own", ["sh", "-c"])
    assert container["args"] == ["echo demo"]
    assert {"name": "WHERE", "value": "experiments"} in container["env"]
    assert pod["serviceAccountName"] == "runner"
    assert job["spec"]["activeDeadlineSeconds"] == 60
    bare = build_job(postRun={"image": "example.org/own"})
    assert bare is not None
    (container,) = bare["spec"]["template"]["spec"]["containers"]
    assert not {"command", "args"} & set(container)
