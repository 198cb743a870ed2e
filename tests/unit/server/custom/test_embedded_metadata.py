"""Metadata of custom objects: the short way for usual members agrees with Go's type."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta import builtins
from quarterdeck.server.custom.embedded_metadata import InvalidMetadata, coerce_metadata

texts = st.sampled_from(["", "a", "ä", "b/c"])
odd = st.sampled_from([None, 1, True, [], {}, [1], {"a": None}, {"a": 1}])
maps = st.dictionaries(texts, texts, max_size=2)
members = st.fixed_dictionaries(
    {},
    optional={
        "annotations": st.one_of(maps, odd),
        "namespace": st.one_of(texts, odd),
        "labels": st.one_of(maps, odd),
        "generateName": texts,
        "name": st.one_of(texts, odd),
        "uid": texts,
        "creationTimestamp": st.none(),
        "unknown": texts,
    },
)


@given(members)
def test_metadata_is_what_go_reads(metadata: dict[str, Any]) -> None:
    decoded = builtins.decode_type(metadata, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    value = {"metadata": dict(metadata)}
    try:
        unknown = coerce_metadata(value)
    except InvalidMetadata:
        assert decoded.error is not None
        return
    assert decoded.error is None
    expected = {name: each for name, each in decoded.object.items() if each is not None}
    assert json.dumps(value["metadata"]) == json.dumps(expected)  # the order counts, too
    assert unknown == (["metadata.unknown"] if "unknown" in metadata else [])
