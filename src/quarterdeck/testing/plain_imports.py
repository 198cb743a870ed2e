"""Imports of this package past pytest's rewriting of assertions.

pytest rewrites the assertions of every module that is installed beside a plugin, and ours is
installed beside the whole package. That parses hundreds of modules for nothing, and some of them
in the thread of a cluster: until 3.11.8 Python counts the depth of syntax trees for all threads
together, so that a thread that parses beside another one may get a SystemError.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

_PACKAGE = "quarterdeck."


class _PlainFinder:
    """Finds the modules of the package as Python does."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(_PACKAGE):
            return None
        return importlib.machinery.PathFinder.find_spec(fullname, path, target)


def install() -> None:
    """Ask the plain finder just before pytest's; what others have put first stays first."""
    if _PlainFinder in sys.meta_path:
        return
    finders = [type(each).__module__ for each in sys.meta_path]
    at = next((i for i, name in enumerate(finders) if name.startswith("_pytest.")), None)
    if at is not None:
        sys.meta_path.insert(at, _PlainFinder)
