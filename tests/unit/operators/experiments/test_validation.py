"""All errors of an experiment at once, each with its path."""

from typing import Any

from tests.unit.operators.experiments.samples import component, experiment

from quarterdeck.apis.experiments.components import Component
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.validation import Checked, validate

HUB = {"type": "hub"}


def known(*components: Component) -> dict[str, Component]:
    return {each.metadata.name: each for each in components}


def target(name: str, *components: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": name, "cluster": HUB, "components": list(components), **members}


def paths(checked: Checked) -> list[str]:
    return [problem.error.field for problem in checked.problems]


def test_a_good_experiment_has_no_problem() -> None:
    exp = experiment(
        "gw",
        target("app", {"app": "web"}),
        target(
            "load",
            {"app": "k6", "params": {"url": "http://${targets.app.endpoint}/"}},
            depends=["app"],
        ),
        workflow={
            "template": "t",
            "completion": {"mode": "workflow"},
            "params": {"url": "${targets.load.endpoint:-none}"},
        },
    )
    checked = validate(exp, known(component("web"), component("k6")))
    assert checked.problems == ()
    assert [each.name for each in checked.resolved["load"]] == ["k6"]
    assert checked.reason is None


def test_all_errors_are_listed_with_their_paths() -> None:
    exp = experiment(
        "gw",
        target("app", {"app": "web", "params": {"n": "x"}}, {}),
        target("load", {"app": "nowhere"}, depends=["app", "other"]),
        metrics=[{"name": "p99", "query": "q"}, {"name": "p99", "query": "r"}],
        hypothesis={
            "claim": "c",
            "successCriteria": [{"metric": "p50", "operator": "lt", "value": "1"}],
        },
        workflow={
            "template": "t",
            "completion": {"mode": "workflow"},
            "params": {"a b": "1", "c": "${missing}"},
        },
        tutorial={"services": [{"name": "s", "target": "none", "service": "s", "namespace": "n"}]},
    )
    web = component("web", parameters=[{"name": "n", "type": "int"}])
    checked = validate(exp, known(web))
    assert paths(checked) == [
        "spec.targets[1].depends[1]",
        "spec.targets[0].components[0].params.n",
        "spec.targets[0].components[1]",
        "spec.targets[1].components[0].app",
        "spec.workflow.params.a b",
        "spec.workflow.params.c",
        "spec.metrics[1].name",
        "spec.hypothesis.successCriteria[0].metric",
        "spec.tutorial.services[0].target",
    ]
    assert checked.reason is Reason.DEPENDENCY_UNKNOWN
    assert not checked.can_wait


def test_the_cycle_is_printed() -> None:
    exp = experiment("gw", target("a", depends=["b"]), target("b", depends=["a"]))
    checked = validate(exp, {})
    assert checked.reason is Reason.DEPENDENCY_CYCLE
    assert "a -> b -> a" in checked.message


def test_missing_components_alone_may_come_later() -> None:
    checked = validate(experiment("gw", target("app", {"app": "web"})), {})
    assert checked.reason is Reason.COMPONENT_NOT_FOUND
    assert checked.can_wait


def test_another_target_may_only_be_named_by_those_that_depend_on_it() -> None:
    url = {"app": "web", "params": {"u": "${targets.b.endpoint}"}}
    checked = validate(experiment("gw", target("a", url), target("b")), known(component("web")))
    assert checked.reason is Reason.PARAMETER_INVALID
    assert "add it to depends" in checked.message


def test_unknown_references_of_the_job_after_the_run_are_errors() -> None:
    job = {
        "image": "example.com/report:1",
        "command": ["sh", "-c", "ls $HOME ${HOME}"],
        "args": ["${targets.a.endpoint}", "${experiment.name}", "$${HOME}"],
        "env": {"HOST": "${targets.b.endpoint}"},
    }
    checked = validate(experiment("gw", target("a"), postRun=job), {})
    assert checked.reason is Reason.PARAMETER_INVALID
    assert paths(checked) == ["spec.postRun.command[2]", "spec.postRun.env.HOST"]


def test_dependencies_reach_through_other_targets() -> None:
    url = {"app": "web", "params": {"u": "${targets.a.endpoint}"}}
    exp = experiment("gw", target("a"), target("b", depends=["a"]), target("c", url, depends=["b"]))
    assert validate(exp, known(component("web"))).problems == ()


def test_a_name_that_is_too_long_is_an_error() -> None:
    checked = validate(experiment("x" * 53), {})
    assert checked.reason is Reason.NAME_TOO_LONG
    assert paths(checked) == ["metadata.name"]


def test_a_component_listed_twice_is_an_error() -> None:
    exp = experiment("gw", target("a", {"app": "web"}, {"app": "web"}))
    checked = validate(exp, known(component("web")))
    assert paths(checked) == ["spec.targets[0].components[1]"]


def test_fields_without_effect_warn() -> None:
    hub = target("app", observability={"enabled": True, "transport": "tailscale"})
    exp = experiment(
        "gw", hub, publish=True, codeSnippets={"a": {"name": "n", "language": "go", "path": "p"}}
    )
    checked = validate(exp, {})
    assert checked.problems == ()
    assert len(checked.warnings) == 3


def test_names_that_objects_cannot_have_are_refused() -> None:
    assert paths(validate(experiment("Demo"), {})) == ["metadata.name"]
    long = validate(experiment("a" * 64), {})
    assert (paths(long), long.reason) == (["metadata.name"], Reason.NAME_TOO_LONG)
    exp = experiment("demo", target("a" * 64), target("App"))
    checked = validate(exp, {})
    assert paths(checked) == ["spec.targets[0].name", "spec.targets[1].name"]
    assert checked.reason is Reason.NAME_TOO_LONG


def test_an_existing_cluster_needs_a_kubeconfig() -> None:
    checked = validate(experiment("demo", target("app", cluster={"type": "existing"})), {})
    assert paths(checked) == ["spec.targets[0].cluster.kubeconfigSecretRef"]
    assert "must be set for a cluster of type existing" in checked.message
