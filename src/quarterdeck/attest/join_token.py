"""Join tokens: `hf1.<id>.<secret>`.

The id is public and finds the record; the secret has 256 bits and is kept only as a hash. Whoever
reads the records cannot make a token of them.
"""

import base64
import hashlib
import hmac
import re
import secrets

import msgspec

from quarterdeck.attest.errors import InvalidToken
from quarterdeck.kit.redaction import Secret

_PREFIX = "hf1"
_ID_BYTES = 8
_ID_LENGTH = 12
_SECRET_BYTES = 32
_FORMAT = re.compile(r"hf1\.([a-z2-7]{12})\.([A-Za-z0-9_-]{43})")


class JoinToken(msgspec.Struct, frozen=True):
    """A token in plain text, as its holder has it."""

    id: str
    secret: Secret[str]

    def reveal(self) -> str:
        """The text to hand over; never log it."""
        return f"{_PREFIX}.{self.id}.{self.secret.reveal()}"


def generate_token() -> JoinToken:
    """A new token."""
    identity = base64.b32encode(secrets.token_bytes(_ID_BYTES)).decode().lower()[:_ID_LENGTH]
    return JoinToken(identity, Secret(secrets.token_urlsafe(_SECRET_BYTES)))


def parse_token(text: str) -> JoinToken:
    """Read a token.

    Raises:
        InvalidToken: if the text is not a join token; the message does not show it.
    """
    match = _FORMAT.fullmatch(text)
    if match is None:
        raise InvalidToken("not a join token: expected hf1.<id>.<secret>")
    return JoinToken(match[1], Secret(match[2]))


def hash_token(token: JoinToken) -> str:
    """What is stored of a token; the id is part of it, so records cannot be exchanged."""
    return hashlib.sha256(token.reveal().encode()).hexdigest()


def matches_hash(token: JoinToken, stored: str) -> bool:
    """Whether a token is the one of a record, in constant time."""
    return hmac.compare_digest(hash_token(token), stored)
