"""Limits the open streams of a viewer, because each holds watches on the API server."""

from collections import Counter

from quarterdeck.kit.http import BodyWriter, Response, StreamResponse
from quarterdeck.services.hub.web.viewer import Viewer
from quarterdeck.wire.status import TooManyRequests

MAX_STREAMS = 16
"""A page has one stream, and one more for each console or log that is followed; browsers open six
connections to a host at most."""


class StreamLimit:
    """Counts the open streams of each viewer."""

    def __init__(self, limit: int = MAX_STREAMS) -> None:
        self._limit = limit
        self._open: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._open.total()

    def check(self, viewer: Viewer) -> None:
        """Check whether a viewer may open another stream, before anything is opened for it.

        Raises:
            TooManyRequests: if there are too many already.
        """
        if self._open[viewer.identifier] >= self._limit:
            raise TooManyRequests(
                f"{self._limit} streams of this session are open; close other pages of it"
            )

    def hold(self, viewer: Viewer, answer: Response | StreamResponse) -> Response | StreamResponse:
        """Wrap a response so that a stream is counted until it ends."""
        if not isinstance(answer, StreamResponse):
            return answer

        async def run(writer: BodyWriter) -> None:
            self._open[viewer.identifier] += 1
            try:
                await answer.run(writer)
            finally:
                self._open[viewer.identifier] -= 1
                if not self._open[viewer.identifier]:
                    del self._open[viewer.identifier]

        return StreamResponse(answer.status, answer.headers, run)
