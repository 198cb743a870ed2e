"""The declaration of a controller: what is reconciled, what starts a reconcile, and its limits.

A `Controller` is data; `runner.Runner` executes it inside a manager, so the same declaration can
run against several clusters at once.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.controller.declaration import check_handler, check_kinds
from quarterdeck.runtime.queue.rate_limiter import RateLimiter
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.runtime.reconcile.finalizer import Finalizer
from quarterdeck.runtime.reconcile.result import Result
from quarterdeck.runtime.sharding.ownership import Ownership
from quarterdeck.runtime.source.handler import Owns, Watch
from quarterdeck.runtime.source.predicate import Predicate, desired_state_changed

T = TypeVar("T", bound=Object)

Reconcile = Callable[[T, Context[T]], Awaitable[Result | None]]
"""`async def reconcile(obj, ctx)`; returning None means `Done()`. It must be idempotent."""

Enqueue = Callable[[Key], None]
Source = Callable[[Enqueue], Awaitable[None]]
"""A long-running coroutine that enqueues keys for reasons other than events of the API server."""


class Controller(msgspec.Struct, Generic[T], frozen=True, kw_only=True, eq=False):
    """Reconciles the objects of one kind."""

    reconcile: Reconcile[T]
    """Called with the newest known object whenever it may need work."""
    for_: type[T]
    """The reconciled kind."""
    name: str = ""
    """Unique in a manager: names logs, metrics and queues. Default: the kind in lower case."""
    owns: Sequence[type[Object] | Owns] = ()
    """Kinds of children: their changes wake the owner."""
    watches: Sequence[Watch] = ()
    """Other kinds whose changes concern this one, with a mapping to keys."""
    reads: Sequence[type[Object]] = ()
    """Kinds that are cached for reading; their changes start no reconcile."""
    writes: Sequence[type[Object]] = ()
    """Kinds that are written without being owned; only permissions are derived from this."""
    gets: Sequence[type[Object]] = ()
    """Kinds of which single objects are read without a cache; only permissions are derived."""
    predicates: Sequence[Predicate] = (desired_state_changed,)
    """Which events of the reconciled kind matter; all must hold."""
    finalizers: Sequence[Finalizer[T]] = ()
    """Clean-up steps, in order. Without any, the controller does nothing on deletion."""
    needs_finalizers: Callable[[T], bool] | None = None
    """Whether an object gets the finalizers; None means always. An object with nothing left to
    clean up can then be deleted while the controller is not running."""
    on_deleted: Callable[[Key], Awaitable[None]] | None = None
    """Called when an object has been deleted or is another replica's now, to drop state kept in
    memory for it. If it fails it is called again, before a new object of the name is reconciled."""
    on_error: Callable[[Context[T], Exception], None] | None = None
    """Called before a failure is written to the status, to set further conditions."""
    indexes: Mapping[type[Object], Mapping[str, Callable[[Any], Sequence[str]]]] = {}
    """Indexes to keep: kind -> name -> function from an object to values."""
    sources: Sequence[Source] = ()
    """Coroutines that enqueue keys for reasons other than events of the API server."""
    workers: int = 8
    """How many objects are reconciled at once; one object never twice at once."""
    reconcile_timeout_s: float = 300.0
    """A reconcile that takes longer is cancelled and tried again."""
    ready: str | None = "Ready"
    """The summary condition that the runtime sets; None leaves all conditions to the reconciler."""
    conditions: Sequence[str] = ()
    """Further condition types that this controller owns."""
    field_manager: str = ""
    """The field manager of this controller's writes, status included; the manager's if empty."""
    rate_limiter: Callable[[], RateLimiter] | None = None
    """Delays after failures; default 5 ms doubling to 1000 s per object."""
    resync_s: float | None = None
    """Reconcile everything this often at low priority, with 10 % jitter; None never does."""
    is_fair: bool = True
    """Namespaces take turns in the queue."""
    needs_leader_election: bool = True
    """Whether to work only while the manager leads; False where replicas share the work."""
    ownership: Ownership | None = None
    """Which objects this replica reconciles, by name. Others are not reconciled, and a reconcile
    is cancelled when its object moves to another replica. Enqueue objects that move here."""

    def __post_init__(self) -> None:
        check_kinds("Controller(for_=...)", [self.for_])
        check_kinds(f"controller {self.effective_name}", self.kinds)
        check_handler(f"controller {self.effective_name}: reconcile", self.reconcile)
        for step in self.finalizers:
            check_handler(f"controller {self.effective_name}: finalizer {step.name}", step.run)
        if self.workers < 1:
            raise ValueError(
                f"controller {self.effective_name}: workers must be at least 1, got {self.workers}"
            )
        if self.reconcile_timeout_s <= 0:
            raise ValueError(
                f"controller {self.effective_name}: reconcile_timeout_s must be positive,"
                f" got {self.reconcile_timeout_s}"
            )
        if self.resync_s is not None and self.resync_s <= 0:
            raise ValueError(
                f"controller {self.effective_name}: resync_s must be positive or None,"
                f" got {self.resync_s}"
            )

    @property
    def effective_name(self) -> str:
        """`name`, or else the kind in lower case."""
        return self.name or self.for_.KIND.kind.lower()

    @property
    def owned(self) -> tuple[Owns, ...]:
        """`owns` in its long form."""
        return tuple(each if isinstance(each, Owns) else Owns(each) for each in self.owns)

    @property
    def kinds(self) -> tuple[type[Object], ...]:
        """Every kind that must be cached."""
        kinds: list[type[Object]] = [self.for_]
        kinds += [own.kind for own in self.owned]
        kinds += [watch.kind for watch in self.watches]
        return tuple(dict.fromkeys([*kinds, *self.reads, *self.indexes]))
