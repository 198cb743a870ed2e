"""The actions that a reflector requests from its informer."""

import msgspec

from quarterdeck.wire.query import ListOptions


class Wait(msgspec.Struct, frozen=True):
    """Do nothing for a while."""

    seconds: float


class FetchPage(msgspec.Struct, frozen=True):
    """LIST one page; answer with `on_page` or `on_failure`."""

    options: ListOptions


class OpenStream(msgspec.Struct, frozen=True):
    """Open a watch; answer with `on_opened`, `on_line` for each line, then `on_closed`,
    `on_silence` or `on_failure`.
    """

    options: ListOptions


Action = Wait | FetchPage | OpenStream
