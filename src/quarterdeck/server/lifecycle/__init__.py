"""The life cycle: controllers inside the server for garbage collection, namespaces and workloads.

Every controller is a pure plan: from the stored objects to a list of actions. The engine follows
committed writes, finds the controllers concerned, runs their plans and writes the actions by the
rules of a request. Nothing polls: without writes and deadlines it does not run.

Start at `engine`, then `engine.actions`, then `controllers.garbage_collector`; `workloads` has the
simulated controllers.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.server.lifecycle.lifecycle import Lifecycle

__all__ = ["Lifecycle"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, {"lifecycle": ("Lifecycle",)})
