"""The runtime of operators: watches become reconciles, and reconciles become status.

May import `client`, `wire`, `apis`, `meta`, `kit`. Start reading at `manager`, then follow an
event: `informer` → `cache` → `source` → `queue` → `controller` → `reconcile`. The layers between
these packages are a contract in pyproject.toml.
What decides is pure and tested on virtual time; what waits is a thin shell around it.

Names load on first use, so that a process pays only for what it needs.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.runtime.cache.event import Change, Event
    from quarterdeck.runtime.controller.controller import Controller
    from quarterdeck.runtime.endpoints.certificate import CertificateFiles
    from quarterdeck.runtime.endpoints.server import BindAddress, MetricsEndpoint
    from quarterdeck.runtime.informer.informer import CacheScope
    from quarterdeck.runtime.informer.watch_settings import WatchSettings
    from quarterdeck.runtime.leaderelection.elector import LostLeadership
    from quarterdeck.runtime.leaderelection.timing import LeaseTiming
    from quarterdeck.runtime.manager.manager import LeaderElection, Manager
    from quarterdeck.runtime.manager.program import run_operator
    from quarterdeck.runtime.observability.logging import Logger, get_logger
    from quarterdeck.runtime.reconcile.context import Context
    from quarterdeck.runtime.reconcile.finalizer import Finalizer
    from quarterdeck.runtime.reconcile.result import (
        DONE,
        Done,
        RequeueAfter,
        Result,
        Stalled,
        WaitFor,
        Waiting,
    )
    from quarterdeck.runtime.source.handler import Lister, Owns, Watch
    from quarterdeck.runtime.webhooks import (
        ConversionError,
        Denied,
        Registration,
        Review,
        ServiceReference,
        Spoke,
        Webhooks,
    )

__all__ = [
    "DONE",
    "BindAddress",
    "CacheScope",
    "CertificateFiles",
    "Change",
    "Context",
    "Controller",
    "ConversionError",
    "Denied",
    "Done",
    "Event",
    "Finalizer",
    "LeaderElection",
    "LeaseTiming",
    "Lister",
    "Logger",
    "LostLeadership",
    "Manager",
    "MetricsEndpoint",
    "Owns",
    "Registration",
    "RequeueAfter",
    "Result",
    "Review",
    "ServiceReference",
    "Spoke",
    "Stalled",
    "WaitFor",
    "Waiting",
    "Watch",
    "WatchSettings",
    "Webhooks",
    "get_logger",
    "run_operator",
]

_HOMES = {
    "cache.event": ("Change", "Event"),
    "endpoints.certificate": ("CertificateFiles",),
    "reconcile.context": ("Context",),
    "controller.controller": ("Controller",),
    "endpoints.server": ("BindAddress", "MetricsEndpoint"),
    "source.handler": ("Lister", "Owns", "Watch"),
    "reconcile.finalizer": ("Finalizer",),
    "informer.informer": ("CacheScope",),
    "leaderelection.elector": ("LostLeadership",),
    "leaderelection.timing": ("LeaseTiming",),
    "observability.logging": ("Logger", "get_logger"),
    "manager.manager": ("LeaderElection", "Manager"),
    "manager.program": ("run_operator",),
    "informer.watch_settings": ("WatchSettings",),
    "reconcile.result": ("DONE", "Done", "RequeueAfter", "Result", "Stalled", "WaitFor", "Waiting"),
    "webhooks": (
        "ConversionError",
        "Denied",
        "Registration",
        "Review",
        "ServiceReference",
        "Spoke",
        "Webhooks",
    ),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
