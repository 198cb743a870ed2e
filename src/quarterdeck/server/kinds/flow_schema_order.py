"""The order of flow schemas in Tables: that in which requests are matched."""

import msgspec

RESOURCE = "flowschemas.flowcontrol.apiserver.k8s.io"


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    matching_precedence: int = 0


class _FlowSchema(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_SCHEMA = msgspec.json.Decoder(_FlowSchema)


def read_precedence(value: bytes) -> int:
    """Read the precedence of a stored flow schema; those with the same one are in order of name."""
    return _SCHEMA.decode(value).spec.matching_precedence
