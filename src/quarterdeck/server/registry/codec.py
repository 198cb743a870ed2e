"""The codec of stored objects."""

from collections.abc import Callable

from quarterdeck.kit import json as kit_json
from quarterdeck.server.registry import go_numbers
from quarterdeck.server.registry.resource import Object, Resource

_LARGE = 256 * 1024
"""Larger objects are decoded in steps, because decoding them at once blocks other threads."""


def decode_stored(resource: Resource, value: bytes) -> Object:
    """Decode a stored object and convert it to a resource's version; large ones in a thread."""
    decoded = decode_value(value)
    strategy = resource.strategy
    return decoded if strategy.stored_as_served else strategy.to_served(decoded)


def decode_value(value: bytes) -> Object:
    """Decode a stored object without conversion; call it in a thread for large ones."""
    decoded: Object = (kit_json.decode if len(value) < _LARGE else kit_json.decode_in_steps)(value)
    return decoded


def encode_served(resource: Resource, value: bytes) -> bytes:
    """Convert stored bytes to the version of a resource."""
    strategy = resource.strategy
    if strategy.stored_as_served:
        return value

    def make(stored: bytes) -> bytes:
        return kit_json.encode(strategy.to_served(decode_value(stored)))

    return make(value) if resource.converter is not None else resource.served.get(value, make)


def build_encoder(
    value: Object, resource: Resource | None = None, *, stored: Object | None = None
) -> Callable[[int], bytes]:
    """Build the function that encodes an object for storage once its revision is known.

    The resourceVersion is written into `value`. Without a resource it is stored as it is; `stored`
    is the object in its stored version, if a webhook converted it.
    """
    metadata = value["metadata"]

    def encode(revision: int) -> bytes:
        metadata["resourceVersion"] = str(revision)
        if stored is not None:
            stored["metadata"]["resourceVersion"] = str(revision)
            return encode_custom(stored)
        if resource is None:
            return kit_json.encode(value)
        final = resource.strategy.to_stored(value)
        return encode_custom(final) if resource.is_custom else kit_json.encode(final)

    return encode


def encode_custom(value: Object) -> bytes:
    """Encode a custom object for storage; floats without a fraction in `value` become integers."""
    encoded = kit_json.encode(value)
    if go_numbers.may_have_whole_floats(encoded):
        go_numbers.write_whole_floats(value)
        encoded = kit_json.encode(value)
    return encoded
