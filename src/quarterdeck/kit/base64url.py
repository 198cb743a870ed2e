"""Base64 for URLs, without padding (RFC 4648, section 5)."""

import base64


def encode(data: bytes) -> str:
    """Encode bytes."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decode a text.

    Raises:
        ValueError: for other characters, or padding.
    """
    if not text.isascii() or "=" in text:
        raise ValueError("invalid base64url")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
