"""List-and-watch as a state machine: what to ask the server next, and what its answers mean.

Pure: no I/O and no clock of its own. The shell (`informer`) performs the `Action` that
`next_action` names and reports what happened; answers come back as `Delta`s for the cache.

    SYNC ──WatchList stream──► WATCH ──closed──► WATCH        (reopened at the last version)
      │ └─fallback─► LIST page by page ─► WATCH ──410/error──► SYNC (after a backoff)
      └──────────── every failure waits, nothing is ever fatal ────────────┘

The rules R1 to R8 are listed in the docstring of the package. Ordering per key (R1) is the cache's,
which knows the stored versions.
"""

import enum
import random
from collections.abc import Sequence

from quarterdeck.client.interfaces import ListPage
from quarterdeck.kit import json
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.cache.delta import Delta, Progress, Remove, Replace, Upsert
from quarterdeck.runtime.cache.retention import PackedStore, RetentionPolicy
from quarterdeck.runtime.cache.snapshot import (
    UNORDERED,
    Metadata,
    Snapshot,
    parse_version,
    read_head,
)
from quarterdeck.runtime.informer.action import Action, FetchPage, OpenStream, Wait
from quarterdeck.runtime.informer.failure import Failure, StreamBroken, parse_failure
from quarterdeck.runtime.informer.retry_schedule import RetrySchedule
from quarterdeck.runtime.informer.watch_line import read_line
from quarterdeck.runtime.informer.watch_settings import WatchSettings
from quarterdeck.wire import frame
from quarterdeck.wire.query import ListOptions


class Health(enum.Enum):
    """The health of a reflector."""

    STARTING = "starting"
    SYNCED = "synced"
    ABSENT = "absent"
    """The server does not serve the kind at the moment."""
    FORBIDDEN = "forbidden"
    FAILING = "failing"


class _Phase(enum.Enum):
    SYNC = "sync"
    PAGES = "pages"
    WATCH = "watch"


class Reflector:
    """The state machine of one watched collection."""

    def __init__(
        self, settings: WatchSettings, rng: random.Random, retention: RetentionPolicy | None = None
    ) -> None:
        self._settings = settings
        self._retention = retention if retention is not None else RetentionPolicy()
        self._random = rng
        self._retries = RetrySchedule(settings, rng)
        self._phase = _Phase.SYNC
        self._list_only_until = float("-inf")
        self._use_list_once = False
        self._version = ""
        self.version = 0
        """The resourceVersion up to which everything has been received."""
        self._list_newest = False  # the version is of no use: ask for the newest state
        self._pages = self._retention.make_store()
        self._continue = ""
        self._list_version = ""
        self._unpaged_once = False
        self._always_page = False
        self._initial: PackedStore | None = None  # collecting initial events
        self._is_open = False
        self._opened_at = 0.0
        self._lines = 0
        self._short_watches = 0
        self._silences = 0
        self._retried_login = False
        self._absences = 0
        self.last_heard_at = float("-inf")
        self.health = Health.STARTING
        self.trouble = ""
        self.lists = 0
        self.streams = 0
        self.resets = 0

    @property
    def silence_s(self) -> float:
        """How long the stream may now be silent."""
        if self._initial is not None:
            return self._settings.initial_events_s
        return self._settings.silence_s

    # --- what to do

    def next_action(self, now: float) -> Action:
        """The next action for the informer to perform."""
        if (wait_s := self._retries.get_wait_s(now)) > 0:
            return Wait(wait_s)
        if self._phase is _Phase.WATCH:
            return OpenStream(self._build_stream_options(self._version))
        if self._phase is _Phase.PAGES or not self._may_stream(now):
            return FetchPage(self._build_page_options())
        self._initial, self._lines = self._retention.make_store(), 0
        version = "" if self._list_newest else self._version
        return OpenStream(self._build_stream_options(version, initial=True))

    def _may_stream(self, now: float) -> bool:
        return (
            self._settings.watch_list and not self._use_list_once and now >= self._list_only_until
        )

    def _build_stream_options(self, version: str, *, initial: bool = False) -> ListOptions:
        settings = self._settings
        return ListOptions(
            watch=True,
            allow_watch_bookmarks=True,
            resource_version=version,
            resource_version_match="NotOlderThan" if initial else "",
            send_initial_events=True if initial else None,
            timeout_seconds=self._random.randint(settings.stream_min_s, settings.stream_max_s),
        )

    def _build_page_options(self) -> ListOptions:
        if self._continue:
            return ListOptions(limit=self._settings.page_size, continue_=self._continue)
        version = "" if self._list_newest else self._version or "0"
        is_paged = not self._unpaged_once and (version in ("", "0") or self._always_page)
        return ListOptions(
            resource_version=version, limit=self._settings.page_size if is_paged else 0
        )

    # --- what happened to a LIST

    def on_page(self, page: ListPage, now: float) -> Replace | None:
        """A page was received; the last one returns the whole state."""
        asked_any = not self._continue and not self._list_newest and not self._version
        if asked_any and page.continue_:
            self._always_page = True
        for item in page.items:
            self._pages.put(self._retention.make_snapshot(item, read_head(item).metadata))
        self._list_version = page.resource_version
        self._continue = page.continue_
        self._retried_login = False
        self.last_heard_at = now
        if page.continue_:
            self._phase = _Phase.PAGES
            return None
        snapshots, self._pages = tuple(self._pages.values()), self._retention.make_store()
        self.lists += 1
        return self._finish_sync(snapshots, self._list_version)

    def _finish_sync(self, snapshots: Sequence[Snapshot], version: str) -> Replace:
        old, new = self.version, parse_version(version)
        is_reset = UNORDERED < new < old
        self.resets += is_reset
        self._version, self.version = version, new if version else 0
        self._phase = _Phase.WATCH
        self._list_newest = self._use_list_once = self._unpaged_once = False
        self._absences = 0
        self._continue = ""
        self.health, self.trouble = Health.SYNCED, ""
        return Replace(snapshots, new, is_reset)

    # --- what happened to a stream

    def on_opened(self, now: float) -> None:
        """The server accepted the watch."""
        self._is_open = True
        self._opened_at = now
        self._lines = 0
        self._retried_login = False
        self.streams += 1
        self.last_heard_at = now
        if self._initial is None:
            self.health, self.trouble = Health.SYNCED, ""

    def on_line(self, line: bytes, now: float) -> Delta | None:
        """A complete line came. Raises `StreamBroken` when the stream must be closed."""
        self._lines += 1
        self._silences = 0
        self.last_heard_at = now
        try:
            type_, metadata, body = read_line(line)
            if type_ == "ERROR":
                raise StreamBroken(parse_failure(body))
        except (frame.FrameError, *json.UNREADABLE) as error:  # R3
            raise StreamBroken(Failure(500, "Undecodable", str(error))) from error
        if self._initial is not None:
            return self._collect_initial_event(type_, metadata, body)
        match type_:
            case "ADDED" | "MODIFIED":
                snapshot = self._retention.make_snapshot(body, metadata)
                self._advance(metadata.resource_version, snapshot.version)
                return Upsert(snapshot, metadata)
            case "DELETED":
                snapshot = self._retention.make_snapshot(body, metadata)
                self._advance(metadata.resource_version, snapshot.version)
                return Remove(snapshot, metadata)
            case "BOOKMARK":  # R6: every earlier line has been applied already
                version = parse_version(metadata.resource_version)
                self._advance(metadata.resource_version, version)
                return Progress(version)
            case _:
                return None  # a type of the future: skipped

    def _collect_initial_event(self, type_: str, metadata: Metadata, body: bytes) -> Replace | None:
        assert self._initial is not None
        match type_:
            case "ADDED" | "MODIFIED":
                self._initial.put(self._retention.make_snapshot(body, metadata))
            case "DELETED":
                self._initial.remove(Key(metadata.namespace, metadata.name))
            case "BOOKMARK" if (metadata.annotations or {}).get(frame.INITIAL_EVENTS_END):
                snapshots = tuple(self._initial.values())
                self._initial = None
                self.lists += 1
                return self._finish_sync(snapshots, metadata.resource_version)
        return None

    def _advance(self, resource_version: str, version: int) -> None:
        """Record the received version. R1: if it is older than ours, the server lost history."""
        if UNORDERED < version < self.version:
            self._list_newest = True
            raise StreamBroken(
                Failure(
                    410,
                    "HistoryWentBack",
                    f"the server went back to resourceVersion {resource_version}; listing again",
                )
            )
        self._version, self.version = resource_version, version

    def on_closed(self, now: float) -> None:
        """The server ended the stream, which is normal: reopen it at once at the last version."""
        self._is_open = False
        if self._initial is not None:
            self._fall_back(now)
        elif self._lines or now - self._opened_at >= self._settings.short_stream_s:
            self._short_watches = 0
        else:
            self._handle_short_watch(now)

    def _handle_short_watch(self, now: float) -> None:
        """Reopen at the last version; if the next watch ends as early, list again after a delay.

        One short watch is normal: a server or proxy that restarts also ends watches just opened.
        """
        self._short_watches += 1
        if self._short_watches == 1:
            self._retries.wait_jitter(now)
        else:
            text = "the server closed two watches in a row soon after they began, without an event"
            self._schedule_resync(Failure(0, "ShortWatch", text), now)

    def on_silence(self, now: float) -> None:
        """No line for `silence_s`: the stream is dead although it looks open (R7)."""
        self._is_open = False
        if self._initial is not None:
            self._fall_back(now, sticky=True)
            return
        self._silences += 1
        if self._silences > 1:  # the server may wait for a version it never reaches
            self._silences = 0
            self._list_newest = True
            self._phase = _Phase.SYNC

    def on_failure(self, failure: Failure, now: float) -> Replace | None:
        """A request was refused, a connection failed, or a stream broke."""
        was_open, self._is_open = self._is_open, False
        if was_open and failure.code == 0 and self._initial is None:
            self.on_closed(now)  # cut, not refused: the state received so far is right
            return None
        self.trouble = failure.message or failure.reason
        if failure.code == 401 and not self._retried_login:  # R5: the client renews credentials
            self._retried_login = True
            self._initial = None
            return None
        if failure.code == 404:
            return self._handle_absence(failure, now)
        self.health = Health.FORBIDDEN if failure.code == 403 else Health.FAILING
        if self._phase is _Phase.WATCH and self._initial is None:
            self._handle_failed_watch(failure, now)
        elif self._initial is not None:
            self._handle_refused_stream(failure, now)
        else:
            self._handle_failed_list(failure, now)
        return None

    def _handle_failed_watch(self, failure: Failure, now: float) -> None:
        if failure.code in (0, 429):
            self._retries.delay(failure, now)  # same version: nothing is lost
        elif failure.is_expired and self._retries.may_retry_now(now):
            self._relist(now)
        elif self._is_passing(failure, now):
            self._retries.retry_now_after_failure(now)  # same version: the error is not about it
        else:
            self._schedule_resync(failure, now)

    def _relist(self, now: float) -> None:
        """List again: the version is too old, and waiting would only make it older."""
        self._phase = _Phase.SYNC
        self._retries.retry_now(now)

    def _is_passing(self, failure: Failure, now: float) -> bool:
        return self._retries.is_transient(failure, now, last_heard_at=self.last_heard_at)

    def _handle_refused_stream(self, failure: Failure, now: float) -> None:
        self._initial = None
        if failure.is_expired or failure.is_too_large:
            self._handle_refused_version(failure, now)
        elif failure.code in (0, 429, 403, 401):
            self._use_list_once = self._lines > 0  # cut half-way: a list may get through
            self._retries.delay(failure, now)
        else:
            self._fall_back(now, sticky=failure.code in (400, 422))

    def _handle_failed_list(self, failure: Failure, now: float) -> None:
        second_page, self._pages = bool(self._continue), self._retention.make_store()
        self._continue = ""
        self._phase = _Phase.SYNC
        if failure.is_expired and second_page and not self._unpaged_once:
            self._unpaged_once = self._use_list_once = True  # one full list at the same version
        elif failure.is_expired or failure.is_too_large:
            self._handle_refused_version(failure, now)
        elif self._is_passing(failure, now):
            self._retries.retry_now_after_failure(now)
        else:
            self._retries.delay(failure, now)

    def _handle_refused_version(self, failure: Failure, now: float) -> None:
        """List the newest state at once; if that fails too, wait (R8)."""
        if self._list_newest:
            self._retries.delay(failure, now)
        self._list_newest = True
        self._phase = _Phase.SYNC

    def _handle_absence(self, failure: Failure, now: float) -> Replace | None:
        """Handle a kind that is not served: after the second 404 all its objects count as deleted.

        That includes our last writes, whose events will never be received. Requests continue.
        """
        self.health = Health.ABSENT
        self._initial = None
        self._pages, self._continue = self._retention.make_store(), ""
        self._phase = _Phase.SYNC
        self._list_newest = True
        self._absences += 1
        self._retries.delay(failure, now, cap_s=self._settings.absent_cap_s)
        return Replace((), self.version, is_reset=True) if self._absences == 2 else None

    def _fall_back(self, now: float, *, sticky: bool = False) -> None:
        self._initial = None
        self._use_list_once = True
        self._phase = _Phase.SYNC
        if sticky:
            self._list_only_until = now + self._settings.list_only_s

    def _schedule_resync(self, failure: Failure, now: float) -> None:
        self._phase = _Phase.SYNC
        self._retries.delay(failure, now)
