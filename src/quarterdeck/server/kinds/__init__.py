"""The rules of the built-in kinds.

`rules` is the form every kind fills in; one module per family fills it in; `catalog` makes the
resources. `admission` holds what the default admission plugins of Kubernetes add to objects, and
`addresses` gives out the addresses of services. Imports `meta`, `wire` and the registry's face.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.server.kinds.catalog import build_builtin_resources

__all__ = ["build_builtin_resources"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, {"catalog": ("build_builtin_resources",)})
