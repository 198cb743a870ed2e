"""The runtime of operators: watches become reconciles, and reconciles become status.

May import `client`, `wire`, `apis`, `meta`, `kit`. Start reading at `manager`, then follow an
event: `reflector` → `cache` → `predicate` → `enqueue` → `queue` → `runner` → `status`.
What decides is pure and tested on virtual time; what waits is a thin shell around it.

Names load on first use, so that a process pays only for what it needs.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.runtime.certificates import CertificateFiles
    from quarterdeck.runtime.change import Change, Event
    from quarterdeck.runtime.context import Context
    from quarterdeck.runtime.controller import Controller
    from quarterdeck.runtime.endpoints import Bind, MetricsPage
    from quarterdeck.runtime.enqueue import Lookup, Owns, Watch
    from quarterdeck.runtime.finalizer import Finalizer
    from quarterdeck.runtime.informer import Scope
    from quarterdeck.runtime.leader import LostLeadership, Timing
    from quarterdeck.runtime.logging import Logger, get_logger
    from quarterdeck.runtime.manager import Election, Manager
    from quarterdeck.runtime.program import operate
    from quarterdeck.runtime.reflector import Settings
    from quarterdeck.runtime.result import (
        DONE,
        Done,
        RequeueAfter,
        Result,
        Stalled,
        WaitFor,
        Waiting,
    )
    from quarterdeck.runtime.webhooks import Denied, Review, Webhooks

__all__ = [
    "DONE",
    "Bind",
    "CertificateFiles",
    "Change",
    "Context",
    "Controller",
    "Denied",
    "Done",
    "Election",
    "Event",
    "Finalizer",
    "Logger",
    "Lookup",
    "LostLeadership",
    "Manager",
    "MetricsPage",
    "Owns",
    "RequeueAfter",
    "Result",
    "Review",
    "Scope",
    "Settings",
    "Stalled",
    "Timing",
    "WaitFor",
    "Waiting",
    "Watch",
    "Webhooks",
    "get_logger",
    "operate",
]

_HOMES = {
    "change": ("Change", "Event"),
    "certificates": ("CertificateFiles",),
    "context": ("Context",),
    "controller": ("Controller",),
    "endpoints": ("Bind", "MetricsPage"),
    "enqueue": ("Lookup", "Owns", "Watch"),
    "finalizer": ("Finalizer",),
    "informer": ("Scope",),
    "leader": ("LostLeadership", "Timing"),
    "logging": ("Logger", "get_logger"),
    "manager": ("Election", "Manager"),
    "program": ("operate",),
    "reflector": ("Settings",),
    "result": ("DONE", "Done", "RequeueAfter", "Result", "Stalled", "WaitFor", "Waiting"),
    "webhooks": ("Denied", "Review", "Webhooks"),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
