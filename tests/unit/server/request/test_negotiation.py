"""Content negotiation: forms, media types and discovery documents by the Accept header."""

import pytest

from quarterdeck.server.request import negotiation
from quarterdeck.server.request.negotiation import Discovery, Form
from quarterdeck.wire.media import PROTOBUF
from quarterdeck.wire.status import NotAcceptable

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
    [
        "text/html",
        "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Odd;g=x;v=v1",
    ],
)
def test_what_cannot_be_made_is_not_acceptable(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiation.choose(accept)


def test_protobuf_is_chosen_for_built_in_kinds_alone() -> None:
    assert negotiation.choose(f"{PROTOBUF},application/json").media == PROTOBUF
    with pytest.raises(NotAcceptable):
        negotiation.choose(PROTOBUF, is_custom=True)
    partial = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert negotiation.choose(partial, is_custom=True).media == PROTOBUF


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
