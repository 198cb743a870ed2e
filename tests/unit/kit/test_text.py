import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import json
from quarterdeck.kit.json import JsonError
from quarterdeck.kit.patterns import PatternError, compile_re2
from quarterdeck.kit.redaction import MASK, Secret, redact, redact_members


def test_duplicate_keys_are_found_by_path() -> None:
    text = '{"a":1,"spec":{"size":1,"size":2,"list":[{"x":1,"x":1,"x":2}]},"a":2}'
    assert json.find_duplicate_keys(text) == ["a", "spec.size", "spec.list[0].x"]
    assert json.find_duplicate_keys('{"a":{"b":1},"b":2}') == []
    assert json.find_duplicate_keys("not json") == []


@pytest.mark.parametrize("text", [b"{", b"", b"{'a':1}", b"[" * 100_000])
def test_text_that_is_not_json_is_an_error(text: bytes) -> None:
    with pytest.raises(JsonError):
        json.decode(text)


def test_large_integers_stay_exact() -> None:
    assert json.decode(json.encode({"n": 2**63 - 1}))["n"] == 2**63 - 1


@given(st.text(min_size=1))
def test_a_secret_never_prints_itself(text: str) -> None:
    secret = Secret(f"<{text}>")
    assert str(secret) == repr(secret) == f"{secret:>3}" == MASK
    assert secret.reveal() == f"<{text}>"
    assert secret == Secret(f"<{text}>")
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Authorization: Bearer abc.def-123", "abc.def-123"),
        ("authorization=Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ('{"password": "hunter2"}', "hunter2"),
        ("token=abc123&x=1", "abc123"),
        ("GET https://host/x?access_token=abc123&x=1", "abc123"),
        ('bearer_token = "abc123"', "abc123"),
        ('{"clientSecret":"abc123"}', "abc123"),
        ('password = "correct horse"', "horse"),
        (r'{"password":"hun\"ter2","x":1}', "ter2"),
        ("password: 'correct horse'", "horse"),
        ("{'token': 'it''s me', 'x': 1}", "s me"),
        (r'cannot decode "{\"password\":\"hunter2\",\"x\":1}"', "hunter2"),
        (r'cannot decode "{\"password\": \"correct \\\"horse\"}"', "horse"),
        ("https://me:hunter2@host/path", "hunter2"),
        ("got eyJhbGciOi.eyJzdWIi.c2ln here", "eyJzdWIi"),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----", "MHcC"),
        ("bad key -----BEGIN EC PRIVATE KEY-----\nMHcC\nAgEB", "AgEB"),
        (r'key: "-----BEGIN RSA PRIVATE KEY-----\nMHcC\nAgEB"; see the log', "AgEB"),
    ],
)
def test_secrets_are_taken_out_of_texts(text: str, hidden: str) -> None:
    assert hidden not in redact(text)
    assert MASK in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "{'password': '***', 'user': 'ann lee'}",
        '{"password": "***", "user": "ann lee"}',
        r'"{\"password\": \"***\", \"user\": \"ann lee\"}"',
    ],
)
def test_only_the_value_of_a_secret_is_taken_out(text: str) -> None:
    assert redact(text.replace(MASK, "hunter2")) == redact(text) == text


def test_members_are_masked_at_any_depth() -> None:
    document = {"a": [{"token": "x", "name": "n"}], "token": {"deep": 1}}
    assert redact_members(document, frozenset({"token"})) == {
        "a": [{"token": MASK, "name": "n"}],
        "token": MASK,
    }


def test_patterns_are_re2() -> None:
    pattern = compile_re2("[a-z]+")
    assert pattern.search("1ab2cd")
    assert not pattern.fullmatch("1ab")
    assert pattern.find("1ab2cd") == (1, 3)
    assert pattern.find_all("1ab2cd") == [(1, 3), (4, 6)]
    assert pattern.find("12") is None
    with pytest.raises(PatternError):
        compile_re2("a(?=b)")
    assert not compile_re2("(a+)+$").fullmatch("a" * 5000 + "b")
