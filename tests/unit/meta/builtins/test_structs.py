"""Bodies of built-in kinds through their Go types."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK, GroupVersion

GOLDEN = Path(__file__).parents[3] / "golden" / "kube-apiserver-v1.32.4.jsonl"
POD = GVK("", "v1", "Pod")
DEPLOYMENT = GVK("apps", "v1", "Deployment")
CONFIG_MAP = GVK("", "v1", "ConfigMap")
SECRET = GVK("", "v1", "Secret")


def gvk_of(body: dict[str, Any]) -> GVK:
    version = GroupVersion.parse(body["apiVersion"])
    return GVK(version.group, version.version, body["kind"])


def type_error(body: object, gvk: GVK) -> str | None:
    return builtins.decode(body, gvk).error


def recorded() -> list[Any]:
    cases = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return [
        pytest.param(case["body"], id=case["title"])
        for case in cases
        if isinstance(case["body"], dict)
        and "apiVersion" in case["body"]
        and builtins.is_builtin(gvk_of(case["body"]))
    ]


@pytest.mark.parametrize("body", recorded())
def test_what_a_server_sent_comes_back_to_the_byte(body: dict[str, Any]) -> None:
    decoded = builtins.decode(body, gvk_of(body))
    assert decoded.error is None
    assert json.dumps(decoded.object) == json.dumps(body)
    assert builtins.find_unknown_fields(body, gvk_of(body)) == []


def test_zero_object_is_what_go_writes() -> None:
    assert builtins.build_zero(DEPLOYMENT) == {
        "metadata": {"creationTimestamp": None},
        "spec": {
            "selector": None,
            "template": {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    }
    assert builtins.build_zero_type("io.k8s.api.core.v1.ConfigMap") == {
        "metadata": {"creationTimestamp": None}
    }


def test_pointer_zeros_stay_and_plain_zeros_go() -> None:
    spec = {"replicas": 0, "paused": False, "minReadySeconds": 0, "selector": None}
    decoded = builtins.decode({"spec": spec}, DEPLOYMENT).object["spec"]
    assert decoded["replicas"] == 0
    assert "paused" not in decoded
    assert "minReadySeconds" not in decoded


def test_nulls_and_empty_collections_go() -> None:
    body: dict[str, Any] = {
        "metadata": {"name": "x", "labels": {}, "annotations": None},
        "data": None,
    }
    assert builtins.decode(body, CONFIG_MAP).object == {
        "metadata": {"name": "x", "creationTimestamp": None}
    }


def test_null_members_of_a_map_become_zero_values() -> None:
    assert builtins.decode({"data": {"a": None}}, CONFIG_MAP).object["data"] == {"a": ""}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("0.5", "500m"), ("1024Mi", "1Gi"), (1, "1"), ("1000m", "1"), (1.5, "1500m")],
)
def test_quantities_become_canonical(text: object, canonical: str) -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": text}}}
    decoded = builtins.decode({"spec": {"containers": [container]}}, POD)
    assert decoded.object["spec"]["containers"][0]["resources"]["limits"]["cpu"] == canonical


def test_times_become_seconds_in_utc() -> None:
    body = {"metadata": {"deletionTimestamp": "2026-01-02T05:04:05.9+02:00"}}
    metadata = builtins.decode(body, CONFIG_MAP).object["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-02T03:04:05Z"


def test_micro_times_keep_six_digits() -> None:
    body = {"spec": {"renewTime": "2026-01-02T03:04:05.500000+00:00"}}
    lease = builtins.decode(body, GVK("coordination.k8s.io", "v1", "Lease")).object
    assert lease["spec"]["renewTime"] == "2026-01-02T03:04:05.500000Z"


CONTAINERS = {"template": {"spec": {"containers": [{"env": [{"name": "A", "value": 1}]}]}}}


@pytest.mark.parametrize(
    ("body", "gvk", "message"),
    [
        pytest.param(
            {"data": {"a": 1}},
            CONFIG_MAP,
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            id="member of a map",
        ),
        pytest.param(
            {"spec": CONTAINERS},
            DEPLOYMENT,
            "json: cannot unmarshal number into Go struct field "
            "EnvVar.spec.template.spec.containers.env.value of type string",
            id="deep in lists",
        ),
        pytest.param(
            {"spec": {"replicas": "3"}},
            DEPLOYMENT,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas "
            "of type int32",
            id="behind a pointer",
        ),
        pytest.param(
            {"spec": {"replicas": 3000000000}},
            DEPLOYMENT,
            "json: cannot unmarshal number 3000000000 into Go struct field "
            "DeploymentSpec.spec.replicas of type int32",
            id="too large",
        ),
        pytest.param(
            {"spec": {"template": {"spec": {"restartPolicy": 1}}}},
            DEPLOYMENT,
            "json: cannot unmarshal number into Go struct field "
            "PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
            id="named string",
        ),
        pytest.param(
            {"metadata": []},
            CONFIG_MAP,
            "json: cannot unmarshal array into Go struct field ConfigMap.metadata "
            "of type v1.ObjectMeta",
            id="struct",
        ),
        pytest.param(
            [],
            CONFIG_MAP,
            "json: cannot unmarshal array into Go value of type v1.ConfigMap",
            id="whole document",
        ),
        pytest.param(
            {"metadata": {"labels": 1, "creationTimestamp": 1}},
            CONFIG_MAP,
            "json: cannot unmarshal number into Go struct field "
            "ObjectMeta.metadata.creationTimestamp of type string",
            id="a type's own decoder wins over the first mismatch",
        ),
        pytest.param(
            {"data": 1, "metadata": {"labels": 1}},
            CONFIG_MAP,
            "json: cannot unmarshal number into Go struct field ConfigMap.data "
            "of type map[string]string",
            id="the document's order counts",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "nope"}},
            CONFIG_MAP,
            'parsing time "nope" as "2006-01-02T15:04:05Z07:00": cannot parse "nope" as "2006"',
            id="bad time",
        ),
        pytest.param(
            {"data": {"a": "%%"}}, SECRET, "illegal base64 data at input byte 0", id="base64"
        ),
        pytest.param(
            {"data": {"a": "abc"}},
            SECRET,
            "illegal base64 data at input byte 0",
            id="base64 without padding",
        ),
        pytest.param(
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "x"}}}]}},
            POD,
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="bad quantity",
        ),
    ],
)
def test_wrong_types_are_worded_as_go_words_them(body: object, gvk: GVK, message: str) -> None:
    assert type_error(body, gvk) == message


def test_right_types_are_no_error() -> None:
    assert type_error({"data": {"a": "b"}}, CONFIG_MAP) is None


def test_unknown_fields_are_named_by_path_in_order() -> None:
    body = {
        "zzz": 1,
        "spec": {
            "replica": 1,
            "template": {
                "metadata": {"labels": {"anything": "goes"}},
                "spec": {"containers": [{"name": "a"}, {"name": "b", "imag": "x"}]},
            },
        },
    }
    assert builtins.find_unknown_fields(body, DEPLOYMENT) == [
        "zzz",
        "spec.replica",
        "spec.template.spec.containers[1].imag",
    ]
    assert "replica" not in builtins.decode(body, DEPLOYMENT).object["spec"]


def test_json_schemas_in_crds_are_read_to_their_depth() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string", "zzz": 1}}},
        "additionalProperties": {"type": "string", "zzz": 1},
        "default": {"any": ["thing"]},
    }
    body = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    crd = builtins.decode(body, GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    decoded = crd.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert decoded["properties"]["a"]["items"] == {"type": "string"}
    assert decoded["additionalProperties"] == {"type": "string"}
    assert decoded["default"] == {"any": ["thing"]}


def test_unknown_kind_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError, match="Nope"):
        builtins.decode({}, GVK("", "v1", "Nope"))


CRD = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def schema_in(**members: Any) -> dict[str, Any]:
    return {"spec": {"versions": [{"schema": {"openAPIV3Schema": members}}]}}


def schema_out(**members: Any) -> Any:
    decoded = builtins.decode(schema_in(**members), CRD)
    assert decoded.error is None
    return decoded.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def test_json_schemas_take_each_of_their_shapes() -> None:
    assert schema_out(items=[{"type": "string"}]) == {"items": [{"type": "string"}]}
    assert schema_out(additionalProperties=True) == {"additionalProperties": True}
    assert schema_out(dependencies={"a": ["b"]}) == {"dependencies": {"a": ["b"]}}
    assert schema_out(dependencies={"a": {"type": "string"}}) == {
        "dependencies": {"a": {"type": "string"}}
    }
    assert schema_out(maximum=1.5) == {"maximum": 1.5}


def test_wrong_shapes_in_json_schemas_are_errors() -> None:
    error = type_error(schema_in(additionalProperties="x"), CRD)
    assert error == "boolean or JSON schema expected"
    error = type_error(schema_in(maximum="x"), CRD)
    assert error is not None and error.endswith("maximum of type float64")


@pytest.mark.parametrize(
    ("text", "byte"),
    [
        ("a", 0),
        ("ab", 0),
        ("abcdef", 4),
        ("ab=", 3),
        ("ab=c", 2),
        ("a=bc", 1),
        ("abcd=", 4),
        ("é", 0),
        ("ab==c", 4),
        ("a\nb%", 3),
        ("ab=\n", 4),
    ],
)
def test_the_byte_where_base64_breaks_is_named(text: str, byte: int) -> None:
    error = type_error({"data": {"a": text}}, SECRET)
    assert error == f"illegal base64 data at input byte {byte}"


def test_base64_may_have_line_breaks() -> None:
    assert builtins.decode({"data": {"a": "Yg=\n="}}, SECRET).object["data"] == {"a": "Yg=="}


@pytest.mark.parametrize(
    ("value", "found"), [(True, "bool"), ([1], "array"), (1.5, "number 1.5"), ({}, "object")]
)
def test_integers_or_strings_are_nothing_else(value: object, found: str) -> None:
    body = {"spec": {"minAvailable": value}}
    assert type_error(body, GVK("policy", "v1", "PodDisruptionBudget")) == (
        f"json: cannot unmarshal {found} into Go struct field "
        "PodDisruptionBudgetSpec.spec.minAvailable of type int32"
    )


@pytest.mark.parametrize(
    ("value", "found"), [("x", "string"), (1.5, "number 1.5"), (True, "bool"), ([], "array")]
)
def test_integers_are_integers(value: object, found: str) -> None:
    error = type_error({"spec": {"replicas": value}}, DEPLOYMENT)
    assert error is not None and error.startswith(f"json: cannot unmarshal {found} into")


def test_booleans_and_bytes_are_checked() -> None:
    error = type_error({"immutable": 1, "data": {"a": 1}}, SECRET)
    assert error is not None and error.endswith("Secret.immutable of type bool")
    error = type_error({"data": {"a": 1}}, SECRET)
    assert error is not None and error.endswith(
        "number into Go struct field Secret.data of type []uint8"
    )


def test_the_zero_time_is_null() -> None:
    body = {"metadata": {"creationTimestamp": "0001-01-01T00:00:00Z"}}
    assert builtins.decode(body, CONFIG_MAP).object == {"metadata": {"creationTimestamp": None}}


def test_null_items_become_zero_values() -> None:
    body = {"spec": {"containers": [None], "tolerations": [None]}}
    pod = builtins.decode(body, POD).object["spec"]
    assert pod == {"containers": [{"name": "", "resources": {}}], "tolerations": [{}]}
