"""One line of a watch: its type, the metadata of its object, and the object's JSON.

Type and metadata are decoded in one pass. The object is then cut out by position, which is right
only for a line as every API server writes it; other lines are decoded once more.
"""

import msgspec

from quarterdeck.runtime.cache.snapshot import Metadata, ObjectHead, read_head
from quarterdeck.wire import frame


class _Line(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    type: str
    object: ObjectHead


_decoder: "msgspec.json.Decoder[_Line]" = msgspec.json.Decoder(_Line)
_NAME = b'"object":'
_PREFIXES = {each.value: b'{"type":"%b",%b' % (each.encode(), _NAME) for each in frame.EventType}


def read_line(line: bytes) -> tuple[str, Metadata, bytes]:
    """The type of an event, and the metadata and JSON of its object.

    Raises:
        FrameError, msgspec.DecodeError: if the line is not an event with an object.
    """
    try:
        event = _decoder.decode(line)
    except msgspec.ValidationError:
        return _read_unusual(line)
    prefix = _PREFIXES.get(event.type)
    if prefix is None or not line.startswith(prefix) or not line.endswith(b"}"):
        return _read_unusual(line)
    start = len(prefix)
    if line.find(_NAME, start) >= 0:  # perhaps a second object of this line
        return _read_unusual(line)
    return event.type, event.object.metadata, line[start:-1]


def _read_unusual(line: bytes) -> tuple[str, Metadata, bytes]:
    event = frame.decode_event(line)
    return event.type, read_head(event.object).metadata, event.body
