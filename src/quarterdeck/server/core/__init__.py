"""What every request shares: the `Core` and its parts.

`core` holds the parts of one server, `durability` waits for commits, `timers` keeps deadlines,
`time_slice` shares the event loop, `metrics` counts requests.
"""

from quarterdeck.server.core.core import Core

__all__ = ["Core"]
