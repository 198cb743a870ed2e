import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import protowire
from quarterdeck.kit.protowire import ProtobufError

numbers = st.integers(1, 2**29 - 1)
unsigned = st.integers(0, 2**64 - 1)


@given(numbers, unsigned)
def test_a_number_reads_back(number: int, value: int) -> None:
    assert protowire.iterate_fields(protowire.write_number(number, value)) == [(number, value)]


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_negative_number_is_in_twos_complement(value: int) -> None:
    ((_, found),) = protowire.iterate_fields(protowire.write_number(1, value))
    assert protowire.read_signed(found) == value


@given(numbers, st.floats(allow_nan=False))
def test_a_float_reads_back(number: int, value: float) -> None:
    ((found, raw),) = protowire.iterate_fields(protowire.write_double(number, value))
    assert (found, protowire.read_double(raw)) == (number, value)


@given(st.lists(st.tuples(numbers, st.binary(max_size=300)), max_size=4))
def test_bytes_read_back_in_order_from_bytes_and_from_views(pairs: list[tuple[int, bytes]]) -> None:
    data = b"".join(protowire.write_bytes(number, payload) for number, payload in pairs)
    assert protowire.iterate_fields(data) == pairs
    views = protowire.iterate_fields(memoryview(data))
    assert [(number, protowire.read_bytes(view)) for number, view in views] == pairs


@given(st.binary(max_size=40))
def test_any_bytes_are_fields_or_an_error(data: bytes) -> None:
    try:
        protowire.iterate_fields(data)
    except ProtobufError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"\x0a", "unexpected EOF", id="no length"),
        pytest.param(b"\x0a\x05ab", "unexpected EOF", id="cut short"),
        pytest.param(b"\x08\x80", "unexpected EOF", id="cut number"),
        pytest.param(b"\x0a\x80", "unexpected EOF", id="cut length"),
        pytest.param(b"\x0d\x00", "unexpected EOF", id="cut fixed32"),
        pytest.param(b"\x09\x00", "unexpected EOF", id="cut fixed64"),
        pytest.param(b"\x08" + b"\x80" * 10, "proto: integer overflow", id="long number"),
        pytest.param(b"\x0b", "protobuf: wire type 3 is not supported", id="group"),
        pytest.param(7, "proto: wrong wireType: expected a message, found a number", id="number"),
    ],
)
def test_broken_bytes_are_explained(data: object, message: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        protowire.iterate_fields(data)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (protowire.read_text, b"\xff"),
        (protowire.read_text, 7),
        (protowire.read_unsigned, b"a"),
        (protowire.read_signed, b"a"),
        (protowire.read_bool, b"a"),
        (protowire.read_bytes, 7),
        (protowire.read_double, b"1234"),
    ],
)
def test_a_value_of_another_kind_is_refused(read: object, value: object) -> None:
    assert callable(read)
    with pytest.raises(ProtobufError, match=r"^proto: "):
        read(value)


def test_text_booleans_and_fixed_fields_are_read() -> None:
    assert protowire.read_text("ä".encode()) == "ä"
    assert protowire.read_bool(2) is True and protowire.read_bool(0) is False
    assert len(protowire.iterate_fields(b"\x0d\x00\x00\x00\x00")[0][1]) == 4
