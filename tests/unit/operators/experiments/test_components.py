"""From references to sources: resolution, parameters, and the sources of Applications."""

from typing import Any

import msgspec
import pytest
from tests.unit.operators.experiments.samples import component

from quarterdeck.apis.experiments.targets import ComponentRef
from quarterdeck.operators.experiments import catalog
from quarterdeck.operators.experiments.components import (
    Problem,
    Resolved,
    build_sources,
    check_params,
    check_sources,
    resolve,
)
from quarterdeck.operators.experiments.conditions import Reason
from quarterdeck.operators.experiments.substitution import Scope

CHART = {"repoURL": "https://charts.example.com", "chart": "web", "targetRevision": "1.0.0"}
GIT = {"repoURL": "https://git.example.com/x.git", "path": "deploy"}


def ref(**members: Any) -> ComponentRef:
    return msgspec.convert(members, ComponentRef)


def resolved(**spec: Any) -> Resolved:
    found = resolve(
        ref(app="web"), {"web": component("web", **spec)}, path="p", by_convention=False
    )
    assert isinstance(found, Resolved)
    return found


def test_a_component_object_wins_over_a_built_in_one() -> None:
    own = component("metrics-agent")
    found = resolve(ref(app="metrics-agent"), {"metrics-agent": own}, path="p", by_convention=False)
    assert isinstance(found, Resolved) and found.origin == "Component"
    found = resolve(ref(app="metrics-agent"), {}, path="p", by_convention=False)
    assert isinstance(found, Resolved) and found.origin == "BuiltIn"


def test_a_missing_component_is_an_error_with_similar_names() -> None:
    known = {"nginx-ingress": component("nginx-ingress")}
    found = resolve(ref(app="nginx-ingres"), known, path="spec.x", by_convention=False)
    assert isinstance(found, Problem)
    assert found.reason is Reason.COMPONENT_NOT_FOUND
    assert "similar names: nginx-ingress" in str(found)
    assert str(found).startswith("spec.x.app: ")


def test_the_kind_must_be_that_of_the_component() -> None:
    found = resolve(ref(config="web"), {"web": component("web")}, path="p", by_convention=False)
    assert isinstance(found, Problem) and "is of type app" in str(found)


@pytest.mark.parametrize("members", [{}, {"app": "a", "config": "b"}])
def test_exactly_one_kind_must_be_set(members: dict[str, str]) -> None:
    found = resolve(ref(**members), {}, path="p", by_convention=False)
    assert isinstance(found, Problem) and found.reason is Reason.INVALID_SPEC


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("app", "nginx", "components/apps/nginx"),
        ("workflow", "k6-loadgen", "components/workflows/k6-loadgen"),
        ("config", "alloy", "components/configs/alloy"),
        ("app", "loki", "components/observability/loki"),
    ],
)
def test_components_follow_the_convention_of_the_existing_repository(
    kind: str, name: str, path: str
) -> None:
    found = resolve(ref(**{kind: name}), {}, path="p", by_convention=True)
    assert isinstance(found, Resolved)
    assert (found.origin, found.sources[0].path) == ("Convention", path)


def test_the_convention_has_three_kinds() -> None:
    with pytest.raises(ValueError, match="testing"):
        catalog.build_source_by_convention("x", "testing")


def test_the_reference_wins_over_the_source_and_the_source_over_the_default() -> None:
    helm = {"parameters": [{"name": "n", "value": "3", "forceString": True}]}
    spec = {"sources": [{**CHART, "helm": helm}], "parameters": [{"name": "n", "default": "2"}]}

    def value(**params: str) -> Any:
        return build_sources(resolved(**spec), params, Scope())[0]["helm"]["parameters"]

    assert value(n="5") == [{"name": "n", "value": "5", "forceString": True}]
    assert value() == [{"name": "n", "value": "3", "forceString": True}]
    plain = resolved(sources=[CHART], parameters=[{"name": "n", "default": "2"}])
    assert build_sources(plain, {}, Scope())[0]["helm"] == {
        "parameters": [{"name": "n", "value": "2"}]
    }


def test_parameters_are_sorted_so_that_nothing_changes_by_itself() -> None:
    found = build_sources(resolved(sources=[CHART]), {"b": "2", "a[0].x": "1", "c": "3"}, Scope())
    assert [each["name"] for each in found[0]["helm"]["parameters"]] == ["a[0].x", "b", "c"]


def test_plain_manifests_never_get_a_helm_block() -> None:
    one = resolved(sources=[GIT])
    assert build_sources(one, {}, Scope()) == [{**GIT, "targetRevision": "HEAD"}]
    problems = list(check_params(one, {"logRate": "50"}, path="params"))
    assert [str(each) for each in problems] == [
        "params.logRate: Forbidden: component web has no such parameter and no Helm chart that "
        "could take it; parameters: none"
    ]


def test_a_parameter_used_in_a_source_is_not_given_to_helm_as_well() -> None:
    helm = {"values": "replicas: ${users}\n", "releaseName": "${experiment.name}"}
    one = resolved(sources=[{**CHART, "helm": helm}], parameters=[{"name": "users"}])
    found = build_sources(one, {"users": "7"}, Scope(experiment={"name": "gw"}))
    assert found[0]["helm"] == {"values": "replicas: 7\n", "releaseName": "gw"}


def test_values_files_come_from_a_source_with_a_ref() -> None:
    chart = {**CHART, "helm": {"valuesFiles": ["$values/a/values.yaml"]}}
    one = resolved(sources=[chart, {"repoURL": "https://git.example.com/v.git"}])
    found = build_sources(one, {}, Scope())
    assert found[0]["helm"]["valueFiles"] == ["$values/a/values.yaml"]
    assert found[1] == {
        "repoURL": "https://git.example.com/v.git",
        "targetRevision": "HEAD",
        "ref": "values",
    }


@pytest.mark.parametrize(
    ("type_", "value", "is_fine"),
    [
        ("int", "5", True),
        ("int", "-5", True),
        ("int", "5x", False),
        ("bool", "true", True),
        ("bool", "True", False),
        ("string", "anything", True),
        ("int", "${targets.app.outputs.n}", True),
    ],
)
def test_types_of_parameters_are_checked(type_: str, value: str, is_fine: bool) -> None:
    one = resolved(parameters=[{"name": "p", "type": type_}])
    assert (not list(check_params(one, {"p": value}, path="params"))) is is_fine


def test_a_required_parameter_must_be_set() -> None:
    one = resolved(parameters=[{"name": "p", "required": True}])
    (problem,) = check_params(one, {}, path="params")
    assert str(problem) == "params.p: Required value: parameter p of component web must be set"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({**GIT, "chart": "x", "targetRevision": "1"}, "path and chart exclude each other"),
        ({"repoURL": "https://x"}, "one of path, chart and ref"),
        ({"repoURL": "https://x", "chart": "c"}, "the version of a chart must be set"),
        ({"repoURL": "https://x", "ref": "values", "helm": {}}, "is not rendered"),
    ],
)
def test_bad_sources_are_named(source: dict[str, Any], words: str) -> None:
    spec = component("web", sources=[source]).spec
    found = [str(error) for error in check_sources(spec.sources, path="spec.sources")]
    assert any(words in each and each.startswith("spec.sources[0]") for each in found)
