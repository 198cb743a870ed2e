"""What is refused before it is stored, for every kind; the same for files and for the webhook."""

from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.v1alpha1 import GROUP, KINDS
from quarterdeck.kit import json, yaml
from quarterdeck.meta.objects import decode
from quarterdeck.operators.pipelines import validation
from quarterdeck.operators.pipelines.lint import lint

SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
BY_NAME = {kind.KIND.kind: kind for kind in KINDS}
GOOD: dict[str, dict[str, Any]] = {
    "Pipeline": {"contents": SCRAPE, "matchers": ["env=prod"]},
    "FleetConnection": {"url": "https://fleet.example.com"},
    "PipelineSet": {
        "source": {"namespace": "team-a"},
        "pipelines": [{"name": "a", "contents": SCRAPE, "matchers": ["env=prod"]}],
    },
    "PipelineRevision": {"pipeline": "web", "revisionId": "7"},
    "Collector": {"id": "edge-1", "remoteAttributes": {"env": "prod"}},
    "RemoteAttributePolicy": {
        "selector": {"matchers": ["team=a"]},
        "attributes": {"env": "prod"},
    },
    "PipelineDiscovery": {"pollInterval": "1m"},
    "CollectorDiscovery": {"pollInterval": "5m", "selector": {"matchers": ["team=a"]}},
    "TenantPolicy": {
        "subjects": [{"kind": "Group", "name": "team-a"}],
        "requiredMatchers": ["team=a"],
    },
    "ExternalAttributeSync": {
        "source": {"http": {"url": "https://cmdb.example.com/hosts"}},
        "mapping": {"collectorIDField": "id", "attributeFields": {"env": "environment"}},
    },
}


def manifest(kind: str, **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {**GOOD[kind], **changes},
    }


def check(kind: str, **changes: Any) -> list[str]:
    obj = decode(BY_NAME[kind], json.encode(manifest(kind, **changes)))
    return [each.text for each in validation.check(obj) if each.is_error]


def test_every_kind_has_a_check_and_a_valid_example() -> None:
    assert set(GOOD) == {kind.KIND.kind for kind in KINDS} == {k.KIND.kind for k in _checked()}
    for kind in GOOD:
        assert check(kind) == []
        linted = lint("x.yaml", yaml.dump(manifest(kind)).encode())
        assert (linted.pipelines, linted.problems) == (1, [])


def _checked() -> list[Any]:
    return list(validation.CHECKS)


STEPS = [{"weight": 50, "duration": "5m"}, {"weight": 10, "duration": "5m"}]


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        pytest.param("Pipeline", {"matchers": ["env=~[a-"]}, "spec.matchers[0]", id="regex"),
        pytest.param(
            "Pipeline", {"matchers": ["a=b,c=d"]}, "one matcher per entry", id="two in one"
        ),
        pytest.param("Pipeline", {"contents": "a {"}, "spec.contents", id="contents"),
        pytest.param(
            "Pipeline", {"rollout": {"steps": STEPS}}, "must be greater than 50", id="falling steps"
        ),
        pytest.param(
            "Pipeline",
            {"rollout": {"steps": [{"matchers": ["a=="]}]}},
            "spec.rollout.steps[0].matchers[0]",
            id="step matcher",
        ),
        pytest.param(
            "Pipeline",
            {"source": {"type": "Grafana"}, "adoptionPolicy": "Always"},
            "cannot be adopted",
            id="grafana",
        ),
        pytest.param("FleetConnection", {"url": "http://far.example.com"}, "https", id="plain"),
        pytest.param(
            "PipelineSet",
            {"pipelines": [GOOD["PipelineSet"]["pipelines"][0]] * 2},
            "is used twice",
            id="member twice",
        ),
        pytest.param("PipelineSet", {"pipelines": []}, "allowEmpty", id="empty set"),
        pytest.param(
            "Collector", {"remoteAttributes": {"collector.os": "x"}}, "reserved", id="reserved"
        ),
        pytest.param(
            "RemoteAttributePolicy", {"selector": {}}, "must be set", id="selects nothing"
        ),
        pytest.param("PipelineDiscovery", {"pollInterval": "5s"}, "less than 60s", id="too often"),
        pytest.param(
            "TenantPolicy",
            {"subjects": [{"kind": "ServiceAccount", "name": "x"}]},
            "required for a ServiceAccount",
            id="account",
        ),
        pytest.param(
            "TenantPolicy",
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.namespaceSelector.matchExpressions[0].values: must have at least one value for "
            "the operator In",
            id="a policy that binds nobody",
        ),
        pytest.param(
            "PipelineSet",
            {
                "pipelines": [],
                "selector": {
                    "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
                },
            },
            "spec.selector.matchExpressions[0].values: must be empty for the operator Exists",
            id="a value that has no effect",
        ),
        pytest.param(
            "Pipeline",
            {
                "contents": "",
                "contentsFrom": {"configMapKeyRef": {"name": "c", "key": "k"}},
                "matchers": ["=="],
            },
            "spec.matchers[0]",
            id="matchers of contents from elsewhere",
        ),
        pytest.param(
            "Pipeline",
            {"rollout": {"steps": [{"weight": 5, "matchers": ["a=b"]}]}},
            "steps[0]: exactly one of weight and matchers",
            id="weight and matchers",
        ),
        pytest.param(
            "PipelineSet",
            {"pipelines": [{"name": "a", "contents": "a {"}]},
            "spec.pipelines[0].contents",
            id="contents of a member",
        ),
        pytest.param(
            "Collector",
            {"remoteAttributes": {"env": "x" * 1025}},
            "spec.remoteAttributes[env]: must have at most 1024 characters",
            id="long value",
        ),
        pytest.param("FleetConnection", {"timeout": "soon"}, "spec.timeout: ", id="not a duration"),
        pytest.param(
            "ExternalAttributeSync",
            {
                "mapping": {
                    "collectorIDField": "id",
                    "attributeFields": {"env": "environment"},
                    "requiredKeys": ["env", "team"],
                }
            },
            "spec.mapping.requiredKeys: 'team' is not among attributeFields",
            id="required key without a field",
        ),
        pytest.param(
            "ExternalAttributeSync",
            {
                "source": {
                    "http": {"url": "http://cmdb.example.com"},
                    "secretRef": {"name": "token"},
                }
            },
            "https is required",
            id="token over http",
        ),
        pytest.param(
            "ExternalAttributeSync",
            {"source": {"http": {"url": "https://[::1/hosts"}}},
            "spec.source.http.url: invalid URL: must be https://host[:port]/path",
            id="half an address",
        ),
        pytest.param(
            "ExternalAttributeSync",
            {"source": {"http": {"url": "https://cmdb.example.com:99999/hosts"}}},
            "spec.source.http.url: invalid URL",
            id="no such port",
        ),
    ],
)
def test_mistakes_are_named_with_their_field(kind: str, changes: dict[str, Any], text: str) -> None:
    assert any(text in each for each in check(kind, **changes))
    linted = lint("x.yaml", yaml.dump(manifest(kind, **changes)).encode())
    assert any(text in each.message for each in linted.problems if each.is_error)


def test_what_was_stored_before_does_not_block_its_deletion() -> None:
    bad = manifest("Pipeline", matchers=["=="])
    old = decode(BY_NAME["Pipeline"], json.encode(bad))
    released = decode(
        BY_NAME["Pipeline"],
        json.encode({**bad, "metadata": {**bad["metadata"], "finalizers": []}}),
    )
    assert validation.check_change(released, old) == []
    assert validation.check_change(released, None) != []
    going = {**bad["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    leaving = decode(BY_NAME["Pipeline"], json.encode({**bad, "metadata": going}))
    assert validation.check_change(leaving, None) == []


def test_a_revision_is_never_changed() -> None:
    old = decode(BY_NAME["PipelineRevision"], json.encode(manifest("PipelineRevision")))
    new = decode(
        BY_NAME["PipelineRevision"], json.encode(manifest("PipelineRevision", revisionId="8"))
    )
    assert "cannot be changed" in validation.check_change(new, old)[0].text


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        pytest.param(
            "Pipeline", {"matchers": []}, "spec.matchers: empty, no collector", id="no matcher"
        ),
        pytest.param(
            "Pipeline",
            {"source": {"type": "Kubernetes"}},
            "spec.source.type: Kubernetes",
            id="type",
        ),
        pytest.param(
            "PipelineSet",
            {"pipelines": [{"name": "a", "contents": SCRAPE}]},
            "spec.pipelines[0].matchers: empty",
            id="member without matchers",
        ),
        pytest.param(
            "TenantPolicy", {"subjects": []}, "applies to every user in every namespace", id="all"
        ),
    ],
)
def test_what_is_probably_not_meant_is_a_warning(
    kind: str, changes: dict[str, Any], text: str
) -> None:
    assert check(kind, **changes) == []
    obj = decode(BY_NAME[kind], json.encode(manifest(kind, **changes)))
    assert any(text in each.text for each in validation.check(obj) if not each.is_error)


def test_connection_without_an_address_takes_that_of_the_operator() -> None:
    assert check("FleetConnection", url="") == []


def test_configurations_of_pipelines_and_sets_are_listed() -> None:
    found = {
        kind: len(validation.list_contents(decode(BY_NAME[kind], json.encode(manifest(kind)))))
        for kind in ("Pipeline", "PipelineSet", "Collector")
    }
    assert found == {"Pipeline": 1, "PipelineSet": 1, "Collector": 0}
