import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.apis.apps import Deployment
from quarterdeck.apis.core import ConfigMap, Container, Pod, Secret
from quarterdeck.meta.identity import GVK, Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import is_absent
from quarterdeck.meta.objects import (
    DecodeError,
    Object,
    ObjectMeta,
    Struct,
    build_owner_reference,
    decode,
    encode,
    find_controller,
    get_raw,
    replace,
    to_builtins,
    to_document,
    with_metadata,
)

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "u-1",
        "labels": {"app": "web"},
        "futureField": {"a": 1},
    },
    "spec": {
        "containers": [
            {"name": "main", "image": "nginx", "futureProbe": {"every": 3}},
            {"name": "side", "image": "envoy"},
        ],
        "affinity": {"nodeAffinity": {}},
        "futureSpec": [1, 2],
    },
    "status": {"podIP": "10.0.0.1", "qosClass": "Burstable"},
}


def body(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()


def test_decoding_reads_typed_fields() -> None:
    pod = decode(Pod, body(POD))
    assert pod.key == Key("shop", "web")
    assert [container.name for container in pod.spec.containers] == ["main", "side"]
    assert pod.status.pod_ip == "10.0.0.1"
    assert pod.uid == "u-1"
    assert not pod.is_deleting


def test_an_object_remembers_the_bytes_it_came_from() -> None:
    data = body(POD)
    pod = decode(Pod, data)
    assert get_raw(pod) is data
    assert get_raw(with_metadata(pod, name="other")) is data
    assert get_raw(Pod()) is None


def test_unknown_fields_survive_a_change_next_to_them() -> None:
    pod = decode(Pod, body(POD))
    main, side = pod.spec.containers
    changed = replace(
        pod,
        spec=msgspec.structs.replace(
            pod.spec, containers=(side, msgspec.structs.replace(main, image="nginx:2"))
        ),
    )
    written = to_document(changed)
    expected = json.loads(body(POD))
    expected["spec"]["containers"] = [
        {"name": "side", "image": "envoy"},
        {"name": "main", "image": "nginx:2", "futureProbe": {"every": 3}},
    ]
    assert written == expected


def test_a_removed_field_is_removed_from_the_document() -> None:
    pod = decode(Pod, body(POD))
    assert "labels" not in to_document(with_metadata(pod, labels={}))["metadata"]


def test_the_document_of_an_untouched_object_is_what_was_read() -> None:
    assert to_document(decode(Pod, body(POD))) == POD


def test_an_object_made_here_has_its_kind() -> None:
    made = ConfigMap(metadata=ObjectMeta(name="settings"), data={"a": "b"})
    assert to_builtins(made) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"a": "b"},
    }
    assert made.gvk() == GVK("", "v1", "ConfigMap")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        pytest.param("labels", None, id="map"),
        pytest.param("finalizers", None, id="list"),
        pytest.param("creationTimestamp", None, id="time"),
        pytest.param("generation", None, id="number"),
    ],
)
def test_null_means_absent(member: str, value: None) -> None:
    data = body({"metadata": {"name": "a", member: value}, "spec": {"affinity": {"x": 1}}})
    pod = decode(Pod, data)
    assert pod.metadata == ObjectMeta(name="a")
    assert json.loads(bytes(pod.spec.affinity)) == {"x": 1}


def test_absent_arbitrary_json_is_recognized() -> None:
    assert is_absent(Pod().spec.affinity)
    assert is_absent(decode(Pod, b'{"spec":{"affinity":null}}').spec.affinity)
    assert not is_absent(decode(Pod, b'{"spec":{"affinity":{}}}').spec.affinity)


def test_null_inside_arbitrary_json_is_kept() -> None:
    pod = decode(Pod, b'{"metadata":{"labels":null},"spec":{"affinity":{"x":null}}}')
    assert json.loads(bytes(pod.spec.affinity)) == {"x": None}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"{", "Pod: Input data was truncated", id="truncated"),
        pytest.param(b'{"metadata":{"name":3}}', "metadata.name", id="wrong type"),
        pytest.param(b'{"kind":"Node"}', "kind Node", id="another kind"),
        pytest.param(b'{"apiVersion":"v2"}', "apiVersion v2", id="another version"),
        pytest.param(b"[]", "Expected `object`", id="no object"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(data: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(Pod, data)
    assert text in str(caught.value)


def test_wire_names_are_kubernetes_own() -> None:
    names = to_builtins(
        decode(
            Pod,
            body({"spec": {"hostPID": True, "hostIPC": True}, "status": {"hostIP": "h"}}),
        )
    )
    assert names["spec"] == {"hostPID": True, "hostIPC": True}
    assert names["status"] == {"hostIP": "h"}


def test_owners_are_referred_to_and_found() -> None:
    owner = decode(Deployment, DEPLOYMENT)
    pod = with_metadata(Pod(), owner_references=(build_owner_reference(owner),))
    found = find_controller(pod)
    assert found is not None
    assert (found.api_version, found.kind, found.name, found.uid) == (
        "apps/v1",
        "Deployment",
        "web",
        "d-1",
    )
    assert found.block_owner_deletion
    assert find_controller(Pod()) is None
    assert build_owner_reference(owner, controller=False).controller is None


DEPLOYMENT = (
    b'{"metadata":{"name":"web","uid":"d-1"},"spec":{"selector":{},"template":{"spec":{}}}}'
)


def test_printing_a_secret_shows_no_value() -> None:
    secret = decode(Secret, b'{"metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}}')
    assert "aHVu" not in f"{secret!r} {secret}"
    assert secret.read("password") == b"hunter2"
    assert secret.read("other") is None
    with pytest.raises(ValueError, match=r"data\[k\] is not base64") as caught:
        Secret(data={"k": "%%%"}).read("k")
    assert "%%%" not in str(caught.value)


class Inner(Struct, frozen=True, kw_only=True):
    name: str = ""
    size: int = 0


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="g", version="v1", kind="Thing", plural="things")
    one: Inner = Inner()
    many: tuple[Inner, ...] = ()
    words: Mapping[str, str] = {}


_names = st.sampled_from(["a", "b", "c", "d"])
_inners: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"name": _names},
    optional={"size": st.integers(1, 3), "unknown": st.integers(0, 3)},
)
_things: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"apiVersion": st.just("g/v1"), "kind": st.just("Thing")},
    optional={
        "one": _inners,
        "many": st.lists(_inners, max_size=4, unique_by=lambda inner: inner["name"]),
        "words": st.dictionaries(_names, st.text(max_size=3), min_size=1),
        "unknown": st.recursive(st.integers(), st.lists, max_leaves=3),
    },
)


@settings(max_examples=count_examples(150))
@given(_things)
def test_reading_and_writing_changes_nothing(thing: dict[str, Any]) -> None:
    assert to_document(decode(Thing, body(thing))) == thing


@settings(max_examples=count_examples(200))
@given(_things, _things)
def test_a_document_holds_the_new_known_fields_and_all_unknown_ones(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    before = decode(Thing, body(old))
    wanted = decode(Thing, body(new))
    after = replace(before, one=wanted.one, many=wanted.many, words=wanted.words)
    written = to_document(after)
    again = decode(Thing, body(written))
    assert (again.one, again.many, again.words) == (wanted.one, wanted.many, wanted.words)
    assert written.get("unknown") == old.get("unknown")


def test_structs_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Container(name="a").name = "b"  # type: ignore[misc]


def test_encoding_leaves_out_defaults() -> None:
    assert encode(Container(name="a", image="b")) == b'{"name":"a","image":"b"}'
