"""Percent-encoding for URLs and headers.

`urllib.parse` does the same, but takes a millisecond and 0.6 MB to load with `ipaddress`, and
programs that only ask a server need nothing else of it.
"""

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"


def quote(text: str, *, safe: str = "") -> str:
    """Encode all bytes of a text but letters, digits, `_.-~` and the ASCII characters in `safe`."""
    kept = _UNRESERVED + safe
    if not text.strip(kept):
        return text
    return "".join(
        char if (char := chr(byte)) in kept else f"%{byte:02X}" for byte in text.encode()
    )
