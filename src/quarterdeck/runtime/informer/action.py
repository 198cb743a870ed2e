"""What a reflector asks of its informer."""

from typing import NamedTuple

from quarterdeck.wire.query import ListOptions


class Wait(NamedTuple):
    """Do nothing for a while."""

    seconds: float


class FetchPage(NamedTuple):
    """LIST one page; answer with `on_page` or `on_failure`."""

    options: ListOptions


class OpenStream(NamedTuple):
    """Open a watch; answer with `on_opened`, `on_line` for each line, then `on_closed`,
    `on_silence` or `on_failure`.
    """

    options: ListOptions


Action = Wait | FetchPage | OpenStream
