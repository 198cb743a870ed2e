"""The body of a webhook's answer, read as Kubernetes' own client reads it. Pure.

That client takes what is not JSON for YAML, so a line of text is a string to it.
"""

from typing import Any

from quarterdeck.kit import json as kit_json

_MAX_YAML_BYTES = 64 * 1024
_UNKNOWN = "couldn't get version/kind; json parse error: "
_TYPES: dict[type, str] = {str: "string", bool: "bool", list: "array"}


class MalformedResponse(ValueError):
    """Raised when a body is not an object; the text is that of Kubernetes' client."""


def decode_response(body: bytes) -> dict[str, Any]:
    """Read the answer of a webhook.

    Raises:
        MalformedResponse: in the words of Kubernetes' client.
    """
    document = _decode(body)
    if isinstance(document, dict):
        return document
    raise MalformedResponse(
        f"{_UNKNOWN}json: cannot unmarshal {_TYPES.get(type(document), 'number')} into Go value of"
        ' type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string'
        ' "json:\\"kind,omitempty\\"" }'
    )


def _decode(body: bytes) -> Any:
    try:
        return kit_json.decode(body)
    except ValueError as error:
        if len(body) > _MAX_YAML_BYTES:
            raise MalformedResponse(f"{_UNKNOWN}{error}") from error
        return _decode_yaml(body)


def _decode_yaml(body: bytes) -> Any:
    from quarterdeck.kit import yaml

    try:
        return yaml.load(body)
    except ValueError as error:
        raise MalformedResponse(f"{_UNKNOWN}{error}") from error
