"""What a watcher sees of operators at work: who waits for a status, and for how long."""

import asyncio
import time

import msgspec


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str
    resource_version: str


class _Spec(msgspec.Struct):
    size: int = 0


class _Status(msgspec.Struct):
    seen: int = 0


class _Widget(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Event(msgspec.Struct):
    type: str
    object: _Widget


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str


class _List(msgspec.Struct):
    metadata: _Version
    items: list[_Widget]


class Observer:
    """Compares the status of each object with its spec; starts from the answer to a LIST."""

    def __init__(self, answer: bytes) -> None:
        self.writes = 0
        """Changes of objects that were seen, whoever made them."""
        self.delays: list[float] = []
        """How long each object waited for its status, in seconds."""
        self.settled = asyncio.Event()
        self._decoder = msgspec.json.Decoder(_Event)
        self._bonus = 0
        self._written = 0
        self._known: dict[tuple[str, str], _Widget] = {}
        self._waiting: dict[tuple[str, str], float] = {}
        found = msgspec.json.decode(answer, type=_List)
        self.version = found.metadata.resource_version
        """Everything up to here was seen."""
        for widget in found.items:
            self._note(widget)
        self._settle()

    @property
    def waiting(self) -> int:
        """How many objects wait; one, if all that is known to be missing is an event."""
        return len(self._waiting) or int(self._is_behind)

    @property
    def _is_behind(self) -> bool:
        return int(self.version) < self._written

    def line(self, line: bytes) -> None:
        """Take an event in."""
        event = self._decoder.decode(line)
        self.version = event.object.metadata.resource_version
        if event.type == "DELETED":
            key = _key(event.object)
            self._known.pop(key, None)
            self._waiting.pop(key, None)
        else:
            self.writes += event.type == "MODIFIED"
            self._note(event.object)
        self._settle()

    def wrote(self, version: str) -> None:
        """There is an object at this version: nothing is settled before it was seen."""
        self._written = max(self._written, int(version))
        self._settle()

    def expect(self, bonus: int) -> None:
        """From now on a status is the size of the spec and so much more."""
        self._bonus = bonus
        for widget in self._known.values():
            self._note(widget)
        self._settle()

    def _note(self, widget: _Widget) -> None:
        key = _key(widget)
        self._known[key] = widget
        if widget.status.seen == widget.spec.size + self._bonus:
            since = self._waiting.pop(key, None)
            if since is not None:
                self.delays.append(time.perf_counter() - since)
        else:
            self._waiting.setdefault(key, time.perf_counter())

    def _settle(self) -> None:
        if self.waiting:
            self.settled.clear()
        else:
            self.settled.set()


def _key(widget: _Widget) -> tuple[str, str]:
    return widget.metadata.namespace, widget.metadata.name
