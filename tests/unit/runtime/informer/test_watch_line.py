"""A line of a watch is read in one pass, and like any other JSON where it is unusual."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.runtime.cache.snapshot import read_head
from quarterdeck.runtime.informer.watch_line import read_line
from quarterdeck.wire.frame import EventType, FrameError, encode_event

NAMES = st.sampled_from(["object", "type", "spec", "status", "}", '"object":'])
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.builds(
    lambda rest, name: {**rest, "metadata": {"name": name, "resourceVersion": "7"}},
    st.dictionaries(NAMES, VALUES, max_size=4),
    NAMES,
)


@given(st.sampled_from(EventType), OBJECTS)
def test_every_event_gives_its_type_metadata_and_json(
    type_: EventType, document: dict[str, object]
) -> None:
    body = msgspec.json.encode(document)
    found = read_line(encode_event(type_, body).rstrip(b"\n"))
    assert found == (type_.value, read_head(body).metadata, body)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"object":{"metadata":{"name":"a"}},"type":"ADDED"}', id="other order"),
        pytest.param(b'{"type": "ADDED", "object": {"metadata":{"name":"a"}} }', id="spaces"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"a"}},"more":1}', id="more"),
        pytest.param(
            b'{"type":"ADDED","object":{"kind":"A"},"object":{"metadata":{"name":"a"}}}', id="twice"
        ),
        pytest.param(b'{"type":"NOVEL","object":{"metadata":{"name":"a"}}}', id="unknown type"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n', id="line end"),
    ],
)
def test_a_line_that_is_written_otherwise_is_read_as_well(line: bytes) -> None:
    type_, metadata, body = read_line(line)
    assert type_ in ("ADDED", "NOVEL")
    assert metadata.name == "a"
    assert msgspec.json.decode(body) == {"metadata": {"name": "a"}}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{",
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":{"metadata":{"name":1}}}',
    ],
)
def test_a_line_that_is_not_an_event_is_an_error(line: bytes) -> None:
    with pytest.raises((FrameError, msgspec.DecodeError)):
        read_line(line)
