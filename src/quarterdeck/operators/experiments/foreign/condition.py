"""The condition type of other projects, and a schema that allows any field."""

from typing import Final

from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Struct

OPEN: Final = Schema(preserve_unknown=True)
"""A schema that preserves fields that are not declared."""


class ForeignCondition(Struct, frozen=True, kw_only=True):
    """A condition as Crossplane, Cluster API and Argo CD write them."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
