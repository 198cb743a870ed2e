"""Flags with which `quarterdeck up` and `run` listen on free ports only.

The settings know every port: a list of them in a test forgets the next one, and then meets
another test that listens there.
"""

from quarterdeck.app.option import RUN, UP, Port
from quarterdeck.app.resolution import list_fields

PORT_FLAGS = tuple(
    field.flag for field in list_fields() if field.type is Port and UP in field.option.commands
)
FREE_PORTS = tuple(word for flag in PORT_FLAGS for word in (flag, "0"))
"""Each flag with 0, for any free port."""
FREE_SETTINGS = {
    field.name: Port(0)
    for field in list_fields()
    if field.type is Port and UP in field.option.commands
}
"""The same for `Settings`."""
RUN_FREE_PORTS = tuple(
    word
    for field in list_fields()
    if field.type is Port and RUN in field.option.commands and field.name != "http_port"
    for word in (field.flag, "0")
)
"""Those of `run`, but for the plain port, which is off there unless it is named."""
