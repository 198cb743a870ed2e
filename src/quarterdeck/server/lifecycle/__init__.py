"""What a cluster does by itself: garbage collection, namespaces, and workloads that become ready.

Every controller is a pure plan: from what is stored to a list of actions. The engine hears of each
committed write, asks whose work it is, runs the plans and writes what they say, by the rules a
request is written by. Nothing here speaks HTTP and nothing polls: without writes and deadlines it
does not run.

May import the rest of `server` and what stands below it. Start at `engine`, then `actions`, then
any controller: `collector` is the most instructive, `workloads` holds the simulated ones.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.server.lifecycle.lifecycle import Lifecycle

__all__ = ["Lifecycle"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, {"lifecycle": ("Lifecycle",)})
