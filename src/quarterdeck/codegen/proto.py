"""The `.proto` file of the collectors' protocol."""

from collections.abc import Iterator

from quarterdeck.codegen.files import File
from quarterdeck.inventory.push.schema import render_proto

PATH = "src/quarterdeck/inventory/push/collector.proto"


def build_files() -> Iterator[File]:
    """The file."""
    yield File(PATH, render_proto())
