"""Flags with which `quarterdeck up` listens on free ports only."""

from quarterdeck.app.resolution import list_fields
from quarterdeck.app.settings import UP, Port

PORT_FLAGS = tuple(
    field.flag for field in list_fields() if field.type is Port and UP in field.option.commands
)
FREE_PORTS = tuple(word for flag in PORT_FLAGS for word in (flag, "0"))
"""Each flag with 0, for any free port."""
