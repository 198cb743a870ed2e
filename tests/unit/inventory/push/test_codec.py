"""The codec against protobuf's own runtime, which reads the same table as a descriptor."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.inventory.nodes import NodeCondition, NodeFacts
from quarterdeck.inventory.push import codec
from quarterdeck.inventory.push.descriptors import MESSAGES, PACKAGE
from quarterdeck.inventory.push.messages import (
    Ack,
    ClusterMetrics,
    ConfigUpdate,
    ConnectRequest,
    ConnectResponse,
    CustomCollectedResource,
    CustomResourceBatch,
    MetricsBatch,
    RegisterRequest,
)
from quarterdeck.kit.protowire import ProtobufError

AT = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
_TYPES = {"string": 9, "bytes": 12, "bool": 8, "int32": 5, "int64": 3, "double": 1}


def build_oracle() -> dict[str, Any]:
    """Protobuf's classes for our table."""
    file = descriptor_pb2.FileDescriptorProto(name="c.proto", package=PACKAGE, syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    for name, message in MESSAGES.items():
        made = file.message_type.add(name=name)
        for number, field, type_ in message.fields:
            label, _, scalar = type_.rpartition(" ")
            added = made.field.add(
                name=field, number=number, label=3 if label in ("repeated", "map") else 1
            )
            if label == "map":
                entry = made.nested_type.add(
                    name="".join(w.title() for w in field.split("_")) + "Entry"
                )
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, label=1, type=9)
                entry.field.add(name="value", number=2, label=1, type=_TYPES[scalar])
                added.type, added.type_name = 11, f".{PACKAGE}.{name}.{entry.name}"
            elif scalar in _TYPES:
                added.type = _TYPES[scalar]
            else:
                added.type = 11
                added.type_name = (
                    ".google.protobuf.Timestamp"
                    if scalar == "Timestamp"
                    else f".{PACKAGE}.{scalar}"
                )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in MESSAGES
    }


ORACLE = build_oracle()
TEXT = st.text(max_size=20)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
DOUBLE = st.floats(allow_nan=False)
BATCHES = st.builds(
    MetricsBatch,
    cluster_name=TEXT,
    batch_id=TEXT,
    collected_at=st.none()
    | st.datetimes(datetime(1970, 1, 2)).map(lambda t: t.replace(tzinfo=UTC)),
    cluster_metrics=st.none()
    | st.builds(
        ClusterMetrics,
        nodes=INT32,
        cpu_capacity=DOUBLE,
        memory_capacity=INT64,
        namespace_list=st.lists(TEXT, max_size=3).map(tuple),
    ),
    custom_resources=st.lists(
        st.builds(
            CustomResourceBatch,
            source_id=TEXT,
            truncated=st.booleans(),
            resources=st.lists(
                st.builds(
                    CustomCollectedResource,
                    id=TEXT,
                    labels=st.dictionaries(TEXT, TEXT, max_size=3),
                    values_json=st.binary(max_size=20),
                ),
                max_size=3,
            ).map(tuple),
            aggregation_values=st.dictionaries(TEXT, DOUBLE, max_size=3),
        ),
        max_size=2,
    ).map(tuple),
    sequence=INT64,
    chunk_index=INT32,
)


@given(BATCHES)
def test_batches_survive_and_protobuf_agrees(batch: MetricsBatch) -> None:
    data = codec.encode("MetricsBatch", batch)
    assert codec.decode("MetricsBatch", data) == batch
    theirs = ORACLE["MetricsBatch"].FromString(data)
    assert theirs.cluster_name == batch.cluster_name
    assert theirs.sequence == batch.sequence
    assert len(theirs.custom_resources) == len(batch.custom_resources)
    assert codec.decode("MetricsBatch", theirs.SerializeToString()) == batch


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_every_message_of_zeros_is_read(name: str) -> None:
    assert isinstance(codec.decode(name, b""), MESSAGES[name].type)


def test_nodes_keep_everything_but_their_moment() -> None:
    node = NodeFacts(
        name="n1",
        timestamp="",
        status="Ready",
        roles=("worker",),
        conditions=(NodeCondition("Ready", "True", "", "", None),),
        cpu_capacity=4.0,
        cpu_used=0.0,
        labels={"a": "b"},
        external_ip="10.0.0.1",
    )
    again = codec.decode("NodeMetrics", codec.encode("NodeMetrics", node))
    assert again == node
    assert again.memory_used is msgspec.UNSET


def test_requests_carry_one_payload() -> None:
    request = ConnectRequest(register=RegisterRequest(cluster_name="east", token="t", version="1"))
    data = codec.encode_request(request)
    assert ORACLE["ConnectRequest"].FromString(data).register.cluster_name == "east"
    assert codec.decode_request(data) == request
    assert codec.decode_request(
        codec.encode_request(ConnectRequest(register=RegisterRequest()))
    ) == (ConnectRequest(register=RegisterRequest()))


def test_an_empty_configuration_is_still_a_message() -> None:
    data = codec.encode_response(ConnectResponse(config=ConfigUpdate()))
    assert codec.decode_response(data).config == ConfigUpdate()


def test_unknown_fields_are_skipped() -> None:
    data = codec.encode("Ack", Ack(batch_id="b", success=True)) + b"\xfa\x01\x03abc"
    assert codec.decode("Ack", data) == Ack(batch_id="b", success=True)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        codec.decode_request(data)
    except ProtobufError:
        pass


@pytest.mark.parametrize("seconds", [-1, 2**62], ids=["before 1970", "after 9999"])
def test_moments_out_of_range_are_refused(seconds: int) -> None:
    theirs = ORACLE["MetricsBatch"]()
    theirs.collected_at.seconds = seconds
    with pytest.raises(ProtobufError, match="out of range"):
        codec.decode("MetricsBatch", theirs.SerializeToString())


def test_moments_keep_microseconds() -> None:
    data = codec.encode("MetricsBatch", MetricsBatch(collected_at=AT))
    assert codec.decode("MetricsBatch", data).collected_at == AT


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**40), st.text(max_size=9))
def test_head_of_a_batch_is_that_of_the_whole(
    index: int, count: int, sequence: int, text: str
) -> None:
    batch = MetricsBatch(
        batch_id=text,
        agent_id=text,
        sequence=sequence,
        chunk_index=index,
        chunk_count=count,
        cluster_name="east",
        resources_json=b"[]",
        node_metrics=(NodeFacts(name="n", timestamp="", status=""),),
    )
    head = codec.decode_request_head(codec.encode_request(ConnectRequest(metrics=batch)))
    assert head.metrics == MetricsBatch(
        batch_id=text, agent_id=text, sequence=sequence, chunk_index=index, chunk_count=count
    )


def test_head_of_anything_else_is_the_whole() -> None:
    request = ConnectRequest(register=RegisterRequest(cluster_name="east", token="t"))
    assert codec.decode_request_head(codec.encode_request(request)) == request
