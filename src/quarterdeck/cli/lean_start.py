"""Loads msgspec without `typing_extensions`, which takes longer to load than msgspec itself.

msgspec asks `typing_extensions` first for names that `typing` has since Python 3.11, and takes
those of `typing` where the package is not installed. Commands that live a tenth of a second would
spend a tenth of it, and operators two megabytes, on a package that nothing else of ours needs.
"""

import sys
from typing import Any


def import_msgspec() -> None:
    """Load msgspec as if `typing_extensions` were not installed; it can be imported afterwards."""
    name = "typing_extensions"
    modules: dict[str, Any] = sys.modules
    if name in modules or "msgspec" in modules:
        return
    modules[name] = None  # an import of it raises ImportError
    try:
        import msgspec  # noqa: F401
    finally:
        del modules[name]
