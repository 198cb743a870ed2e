import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import json
from quarterdeck.wire.frame import EventType, FrameError, decode_event, encode_event, is_error_event
from quarterdeck.wire.media import MediaRange, parse_accept


@given(st.sampled_from(EventType), st.dictionaries(st.text(), st.integers(0, 9)))
def test_an_encoded_event_reads_back(kind: EventType, document: dict[str, int]) -> None:
    body = json.encode(document)
    line = encode_event(kind, body)
    assert line.endswith(b"\n")
    event = decode_event(line)
    assert event.type == kind
    assert event.body == body


@pytest.mark.parametrize(
    "line", [b"", b"{}", b'{"type":"ADDED"}', b"[1]", b'{"type":1,"object":{}}']
)
def test_a_line_that_is_no_event_is_a_frame_error(line: bytes) -> None:
    with pytest.raises(FrameError):
        decode_event(line)


def test_the_accept_header_of_kubectl_is_understood() -> None:
    first, second, third = parse_accept(
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;q=0.9,*/*;q=0.8"
    )
    assert first.get("as") == "Table"
    assert first.get("g") == "meta.k8s.io"
    assert second == MediaRange("application/json", (), 0.9)
    assert third.includes("application/yaml")
    assert parse_accept("")[0].includes("application/json")
    assert MediaRange("application/*").includes("application/yaml")
    assert not MediaRange("text/html").includes("application/json")


@pytest.mark.parametrize(
    ("line", "fails"),
    [
        (b'{"type":"ERROR","object":{}}', True),
        (b'{"type":"\\u0045RROR","object":{}}', True),
        (b'{"type":"E\\u0052R\\u004fR","object":{}}', True),
        (b'{"type":"ADDED","object":{},"type":"ERROR"}', True),
        (b"ERROR in the middle of nothing", True),
        (b'{"type":"ADDED","object":{"message":"ERROR"}}', False),
        (b'{"type":"ADDED","object":{"message":"\\u003c"}}', False),
        (b'{"type":"ADDED","object":{}}', False),
    ],
)
def test_failures_are_found_however_they_are_written(line: bytes, fails: bool) -> None:
    assert is_error_event(line) is fails
