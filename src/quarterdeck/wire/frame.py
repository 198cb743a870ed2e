"""Watch frames: one JSON object a line, `{"type":"ADDED","object":{…}}`.

The object stays raw bytes on both sides: the server splices what it stored, the reader decides how
much of it to decode.
"""

import enum

import msgspec


class EventType(enum.StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class WatchEvent(msgspec.Struct, frozen=True):
    """One line of a watch stream; `object` is its JSON."""

    type: str
    object: msgspec.Raw

    @property
    def body(self) -> bytes:
        """A copy of the object's JSON."""
        return bytes(self.object)


class _Type(msgspec.Struct, gc=False):
    type: str


class FrameError(ValueError):
    """Raised when a line is not a watch event."""


INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation on the bookmark that ends the initial events of a streaming list."""

_decoder = msgspec.json.Decoder(WatchEvent)
_types = msgspec.json.Decoder(_Type)
_PREFIXES = {each: f'{{"type":"{each.value}","object":'.encode() for each in EventType}


def encode_event(kind: EventType, body: bytes) -> bytes:
    """Encode an event with an object that is JSON already; the line ends with a newline."""
    return b"".join((_PREFIXES[kind], body, b"}\n"))


def decode_event(line: bytes) -> WatchEvent:
    """Read one line.

    Raises:
        FrameError: if it is not an event; the message omits the line, which may be secret.
    """
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError as error:
        raise FrameError(f"cannot decode a watch event of {len(line)} bytes: {error}") from error


def is_error_event(line: bytes) -> bool:
    """Whether a line may be the ERROR event of a watch, whose text goes into logs and status.

    Only lines that contain the word, or escapes that its letters may be written as, are decoded,
    so that other events are not decoded twice. A line that cannot be decoded counts as one.
    """
    if line.find(b"ERROR") < 0 and (line.find(b"\\") < 0 or line.find(b"\\u00") < 0):
        return False
    try:
        return _types.decode(line).type == EventType.ERROR
    except msgspec.DecodeError:
        return True
