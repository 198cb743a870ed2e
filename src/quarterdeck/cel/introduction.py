"""The releases of Kubernetes since which expressions may use a function; numbers are the x of 1.x.

A new expression may use only what the previous release also has, so that a cluster can be
downgraded by one release and still compile it. A stored expression may use everything.
"""

from quarterdeck.meta.release import get_release

EVERYTHING = 1000
"""As the newest release: allows all functions, for stored expressions."""
NEVER = 999
"""As the release of a function: cel-go has it, and no release of Kubernetes offers it."""


def get_newest_for_new_expressions() -> int:
    """The newest release whose functions and macros a new expression may use."""
    return int(get_release().partition(".")[2]) - 1
