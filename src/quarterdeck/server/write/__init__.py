"""The road of every write, from a shaped object to a durable one.

Between reading an object and deciding its new state nothing waits, so no two writers can be decided
against the same state; only plugins that must wait (webhooks) open that gap, and then the decision
is made again. The answer is given after the commit. `creation` and `change` are the two roads,
`outcome` is what they share.
"""

from quarterdeck.server.write.change import update
from quarterdeck.server.write.creation import create
from quarterdeck.server.write.deletion import delete
from quarterdeck.server.write.result import (
    MODIFIED,
    Change,
    Intent,
    Written,
    build_conflict,
    build_not_found,
    get_current,
)

__all__ = [
    "MODIFIED",
    "Change",
    "Intent",
    "Written",
    "build_conflict",
    "build_not_found",
    "create",
    "delete",
    "get_current",
    "update",
]
