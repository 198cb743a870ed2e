"""The strategies of the built-in kinds.

`strategy` has the `Rules` that a kind fills in and the one `BuiltinStrategy` that follows them. One
module per family of kinds fills them in; `catalog` builds the resources, `reviews` those that are
never stored.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.server.kinds.catalog import build_builtin_resources

__all__ = ["build_builtin_resources"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, {"catalog": ("build_builtin_resources",)})
