"""The condition of other projects, and a schema that lets everything pass."""

from typing import Final

from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Struct

OPEN: Final = Schema(preserve_unknown=True)
"""Fields that are not declared pass through."""


class ForeignCondition(Struct, frozen=True, kw_only=True):
    """A condition as Crossplane, Cluster API and Argo CD write them."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
