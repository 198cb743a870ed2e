from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import protowire
from quarterdeck.kit.protowire import ProtobufError
from quarterdeck.telemetry.fleet import codes, protobuf, protojson
from quarterdeck.telemetry.fleet.messages import ENUMS, MESSAGES, NUMBERS, SERVICES
from quarterdeck.telemetry.fleet.protojson import ShapeError

_TIMES = ("2026-01-02T03:04:05Z", "1969-12-31T23:59:59Z", "2026-01-02T03:04:05.250000Z")
_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=5),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=5),
    "Timestamp": st.sampled_from(_TIMES),
    "Struct": st.dictionaries(
        st.text(max_size=3),
        st.none()
        | st.booleans()
        | st.integers(-9, 9)
        | st.just(1.5)
        | st.text(max_size=3)
        | st.lists(st.text(max_size=2), max_size=2)
        | st.fixed_dictionaries({"x": st.text(max_size=2)}),
        max_size=3,
    ),
}


def of_type(kind: str, depth: int) -> st.SearchStrategy[Any]:
    if kind.startswith("repeated "):
        return st.lists(of_type(kind[9:], depth), min_size=1, max_size=2)
    if kind.startswith("map "):
        return st.dictionaries(
            st.text(max_size=3), of_type(kind[4:], depth), min_size=1, max_size=2
        )
    if kind in ENUMS:
        return st.sampled_from(ENUMS[kind][1:])
    if kind in NUMBERS:
        return st.integers(0, 2**31 - 1)
    return _SCALARS[kind] if kind in _SCALARS else message(kind, depth + 1)


def message(name: str, depth: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    if depth > 3:
        return st.just({})
    members = {f.name: of_type(f.type.removeprefix("optional "), depth) for f in MESSAGES[name]}
    return st.fixed_dictionaries({}, optional=members).map(lambda found: _no_zeros(name, found))


def _no_zeros(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Zero values without presence are not sent, so they do not come back."""
    kinds = {field.name: field.type for field in MESSAGES[name]}
    plain = ("string", "bool", "bytes", *NUMBERS)
    return {k: v for k, v in document.items() if v or kinds[k] not in plain}


@given(st.sampled_from(sorted(MESSAGES)).flatmap(lambda n: st.tuples(st.just(n), message(n))))
def test_protobuf_reads_back_what_it_writes(pair: tuple[str, dict[str, Any]]) -> None:
    name, document = pair
    assert protobuf.decode(name, protobuf.encode(name, document)) == document


@given(st.sampled_from(sorted(MESSAGES)).flatmap(lambda n: st.tuples(st.just(n), message(n))))
def test_json_reads_back_what_it_writes(pair: tuple[str, dict[str, Any]]) -> None:
    name, document = pair
    again = protojson.read(name, protojson.write(name, document))
    assert protobuf.encode(name, again) == protobuf.encode(name, document)


@given(st.sampled_from(sorted(MESSAGES)), st.binary(max_size=40))
def test_any_bytes_are_a_message_or_a_protobuf_error(name: str, data: bytes) -> None:
    try:
        protobuf.decode(name, data)
    except ProtobufError as error:
        assert str(error)


def test_the_recorded_bytes_of_an_agent_are_read() -> None:
    data = bytes.fromhex("0a06656467652d31220b0a03656e76120470726f64")
    request = {"id": "edge-1", "localAttributes": {"env": "prod"}}
    assert protobuf.decode("GetConfigRequest", data) == request
    assert protobuf.encode("GetConfigRequest", request) == data


def test_json_takes_snake_case_and_numbers_and_ignores_the_unknown() -> None:
    read = protojson.read(
        "Pipeline", {"config_type": 2, "created_at": _TIMES[0], "name": "x", "unknown": 1}
    )
    assert read == {"configType": "CONFIG_TYPE_OTEL", "createdAt": _TIMES[0], "name": "x"}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "Pipeline must be an object"),
        ({"name": 1}, "name must be a string"),
        ({"matchers": "a"}, "matchers must be a list"),
        ({"matchers": [1]}, r"matchers\[0\] must be a string"),
        ({"enabled": "yes"}, "enabled must be true or false"),
        ({"configType": "X"}, "configType must be one of CONFIG_TYPE_UNSPECIFIED"),
        ({"source": 3}, "source must be an object"),
        ({"metadata": 3}, "metadata must be an object"),
    ],
)
def test_a_member_of_the_wrong_type_is_named(document: Any, problem: str) -> None:
    with pytest.raises(ShapeError, match=problem):
        protojson.read("Pipeline", document)


def test_zero_values_without_presence_are_left_out() -> None:
    document = {"name": "", "matchers": [], "enabled": False, "configType": ENUMS["ConfigType"][0]}
    assert protojson.write("Pipeline", document) == {"enabled": False}


def test_codes_are_read_from_the_body_and_else_inferred() -> None:
    assert codes.parse("not_found", 404) is codes.Code.NOT_FOUND
    assert codes.parse(None, 404) is codes.Code.UNIMPLEMENTED
    assert codes.parse("odd", 502) is codes.Code.UNAVAILABLE
    assert codes.infer(418) is codes.Code.UNKNOWN
    assert codes.HTTP_STATUS.keys() == set(codes.Code)


def test_every_method_names_messages_that_exist() -> None:
    for methods in SERVICES.values():
        for method in methods.values():
            assert {method.request, method.response} <= MESSAGES.keys()


def _nested(levels: int) -> bytes:
    """A Struct in a Struct in a Struct …"""
    data = b""
    for _ in range(levels):
        value = protowire.write_bytes(5, data)
        entry = protowire.write_bytes(1, b"k") + protowire.write_bytes(2, value)
        data = protowire.write_bytes(1, entry)
    return data


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(protowire.write_number(1, 7), "name is a number, not text", id="number"),
        pytest.param(protowire.write_bytes(6, b"x"), "enabled is not a number", id="bytes"),
        pytest.param(protowire.write_bytes(1, b"\xff"), "name is not UTF-8", id="not UTF-8"),
        pytest.param(
            protowire.write_bytes(4, protowire.write_number(1, 2**62)),
            "timestamp out of range",
            id="time",
        ),
        pytest.param(
            protowire.write_bytes(8, _nested(40)), "nested deeper than 30 levels", id="too deep"
        ),
        pytest.param(
            protowire.write_bytes(
                8,
                protowire.write_bytes(
                    1,
                    protowire.write_bytes(1, b"k")
                    + protowire.write_bytes(2, protowire.write_bytes(2, b"1234")),
                ),
            ),
            "expected a double of 8 bytes",
            id="short double",
        ),
    ],
)
def test_a_field_of_the_wrong_type_is_named(data: bytes, problem: str) -> None:
    with pytest.raises(ProtobufError, match=problem):
        protobuf.decode("Pipeline", data)


def test_unknown_fields_and_values_do_not_hurt() -> None:
    unknown = protowire.write_number(99, 1) + protowire.write_bytes(98, b"x")
    assert protobuf.decode("Pipeline", unknown) == {}
    later = protowire.write_number(10, 77)
    assert protobuf.decode("Pipeline", later) == {"configType": 77}
    assert protobuf.encode("Pipeline", {"configType": 77}) == later
    odd = protowire.write_number(1, 3) + protowire.write_bytes(
        1, protowire.write_bytes(1, b"k") + protowire.write_bytes(2, protowire.write_number(9, 1))
    )
    assert protobuf.decode("Pipeline", protowire.write_bytes(8, odd)) == {"metadata": {"k": None}}


def test_what_json_has_and_struct_has_not_is_written_as_text() -> None:
    written = protobuf.encode("Pipeline", {"metadata": {"k": (1, 2)}})
    assert protobuf.decode("Pipeline", written) == {"metadata": {"k": "[1,2]"}}


def test_an_entry_of_a_map_may_leave_out_its_parts() -> None:
    data = protowire.write_bytes(4, b"") + protowire.write_bytes(4, protowire.write_bytes(1, b"k"))
    found = protobuf.decode("GetConfigRequest", data)
    assert found == {"localAttributes": {"": "", "k": ""}}
