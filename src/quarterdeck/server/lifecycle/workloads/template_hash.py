"""Short names for pod templates, in the alphabet Kubernetes uses for generated names."""

import hashlib

import msgspec

from quarterdeck.server.registry.resource import Object

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_encode = msgspec.json.Encoder(order="deterministic").encode


def hash_template(template: Object, collisions: int = 0) -> str:
    """Hash a template: equal for equal ones, different for each counted collision."""
    content = _encode(template) + (str(collisions).encode() if collisions else b"")
    number = int.from_bytes(hashlib.blake2b(content, digest_size=4).digest())
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))
