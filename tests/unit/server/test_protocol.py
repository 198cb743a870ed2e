"""The server's pure parts: negotiation, continue tokens, JSON problems, discovery."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, build_refusal
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.nonresource import discovery
from quarterdeck.server.nonresource.health import Health
from quarterdeck.server.read import continue_token
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.request import negotiation
from quarterdeck.server.request.json_errors import find_syntax_error
from quarterdeck.server.request.negotiation import Discovery, Form
from quarterdeck.wire.status import ApiError, NotAcceptable

DOCUMENTS = json.loads(
    (Path(__file__).parents[2] / "golden" / "discovery-v1.32.4.json").read_text()
)
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, Form.OBJECT),
        ("*/*", Form.OBJECT),
        ("application/json", Form.OBJECT),
        ("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT),
        ("application/vnd.kubernetes.protobuf, */*", Form.OBJECT),
        (f"{AS_TABLE},application/json", Form.TABLE),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Form.OBJECT),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Form.METADATA),
        (f"{AS_TABLE};q=0.1,application/json", Form.OBJECT),
    ],
)
def test_form_follows_the_accept_header(accept: str | None, form: Form) -> None:
    assert negotiation.choose(accept).form is form


@pytest.mark.parametrize(
    "accept",
    ["text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Odd;g=x;v=v1"],
)
def test_what_cannot_be_made_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiation.choose(accept)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (["v2", "v2beta1"], Discovery.V2),
        (["v2beta1"], Discovery.V2BETA1),
        (["v2beta1", "v2"], Discovery.V2BETA1),
        (["v3"], Discovery.LEGACY),
        ([], Discovery.LEGACY),
    ],
)
def test_discovery_obeys_the_order_of_the_client(versions: list[str], expected: Discovery) -> None:
    kinds = [
        f"application/json;g=apidiscovery.k8s.io;v={each};as=APIGroupDiscoveryList"
        for each in versions
    ]
    assert negotiation.choose_discovery(",".join([*kinds, "application/json"])) is expected


_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1).filter(
    lambda name: name != ".."
)


@given(st.integers(1, 2**60), _NAMES, _NAMES)
def test_continue_token_comes_back(revision: int, space: str, name: str) -> None:
    for namespace in (None, space):
        position = continue_token.Position(revision, (space, name))
        assert (
            continue_token.decode(continue_token.encode(position, namespace), namespace) == position
        )


@given(st.text())
def test_no_text_breaks_the_reading_of_tokens(text: str) -> None:
    try:
        continue_token.decode(text, None)
    except ApiError as error:
        assert error.code == 400


@given(st.text(max_size=200))
def test_scanner_and_reader_agree_on_what_is_json(text: str) -> None:
    try:
        json.loads(text)
        is_json = not any(word in text for word in ("NaN", "Infinity"))
    except ValueError:
        is_json = False
    assert (find_syntax_error(text) == "") is is_json


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(_JSON)
def test_scanner_accepts_every_document(value: Any) -> None:
    text = json.dumps(value)
    if "Infinity" not in text:
        assert find_syntax_error(text) == ""
        assert text[:-1] == "" or isinstance(find_syntax_error(text[:-1]), str)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ("[1 2]", "invalid character '2' after array element"),
        ("nul", "unexpected end of JSON input"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\q"', "invalid character 'q' in string escape code"),
        ('"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"),
        ("[" * 20_000, "exceeded max depth"),
    ],
)
def test_problems_are_worded_as_go_words_them(text: str, problem: str) -> None:
    assert find_syntax_error(text) == problem


def _registry() -> Registry:
    registry = Registry()
    registry.put("built-in", build_builtin_resources())
    return registry


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if "aggregated" not in path])
def test_discovery_says_what_was_recorded(path: str) -> None:
    if path in ("/api", "/apis"):
        return
    documents = discovery.DiscoveryDocuments(_registry())
    parts = path.strip("/").split("/")
    group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
    body = documents.get_resources(group, version)
    expected = {each["name"]: each for each in DOCUMENTS[path]["resources"]}
    if body is None:
        assert all("list" not in each["verbs"] for each in expected.values()) or group.startswith(
            "apiext"
        )
        return
    for each in json.loads(body)["resources"]:
        assert each == expected[each["name"]]


def test_aggregated_discovery_has_the_recorded_shape() -> None:
    documents = discovery.DiscoveryDocuments(_registry())
    made = json.loads(documents.get_aggregated(Discovery.V2, core=False))
    recorded = DOCUMENTS["/apis (aggregated v2)"]
    assert {name: made[name] for name in ("kind", "apiVersion", "metadata")} == {
        name: recorded[name] for name in ("kind", "apiVersion", "metadata")
    }
    expected = {item["metadata"]["name"]: item for item in recorded["items"]}
    for item in made["items"]:
        assert item == expected[item["metadata"]["name"]]
    beta = json.loads(documents.get_aggregated(Discovery.V2BETA1, core=True))
    assert beta["apiVersion"] == "apidiscovery.k8s.io/v2beta1"


def test_documents_follow_the_registry() -> None:
    registry = _registry()
    documents = discovery.DiscoveryDocuments(registry)
    assert documents.get_resources("apps", "v1") is not None
    registry.remove("built-in")
    assert documents.get_resources("apps", "v1") is None
    assert json.loads(documents.get_groups())["groups"] == []


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    mixed = ["foo1", "v1alpha2", "v10", "v2", "v1beta1", "v11alpha1", "foo10", "v3beta1"]
    ordered = sorted(mixed, key=discovery.rank_version, reverse=True)
    assert ordered[:6] == ["v10", "v2", "v3beta1", "v1beta1", "v11alpha1", "v1alpha2"]


def test_refusal_names_user_verb_and_place() -> None:
    alice = User(name="alice")
    attributes = Attributes(
        "update", group="apps", resource="deployments", subresource="scale", namespace="n", name="d"
    )
    assert build_refusal(alice, attributes).message == (
        'deployments.apps "d" is forbidden: User "alice" cannot update resource'
        ' "deployments/scale" in API group "apps" in the namespace "n"'
    )


def test_health_tells_which_check_failed() -> None:
    health = Health({"ping": lambda: None, "disk": lambda: "full"}, only_ready=frozenset({"disk"}))
    live = health.answer("/livez", "")
    assert live is not None and (live.status, live.body) == (200, b"ok")
    ready = health.answer("/readyz", "")
    assert ready is not None and ready.status == 500
    assert b"[-]disk failed: full" in ready.body
    without = health.answer("/readyz", "exclude=disk&verbose")
    assert without is not None and without.body == b"[+]ping ok\nreadyz check passed\n"
    one = health.answer("/readyz/ping", "")
    assert one is not None and one.status == 200
    assert health.answer("/readyz/nope", "") is None
