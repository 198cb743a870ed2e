"""The value of `authorizer` in expressions: who asks, about what, and who decides.

Expressions may be evaluated in a thread, and roles change on the event loop: questions of a thread
are answered there.
"""

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer

if TYPE_CHECKING:
    from quarterdeck.cel.library import authorizer as cel_authorizer


def build_subject(
    authorizer: Authorizer, attributes: AdmissionAttributes
) -> "cel_authorizer.Subject":
    """The authorizer as it answers for the user of a write."""
    from quarterdeck.cel.library import authorizer as library

    gvr = attributes.resource.gvr
    about = library.Attributes(
        group=gvr.group,
        resource=gvr.resource,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return library.Subject(_Bridge(authorizer, attributes.user), request=about)


_ANSWER_S = 30.0
"""How long a thread waits for the event loop, which may have ended with the server."""


class _Bridge:
    """Answers the questions of expressions for the user of a request."""

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def decide(self, attributes: "cel_authorizer.Attributes") -> "cel_authorizer.Answer":
        """Whether the user, or the service account the expression names, may do that."""
        from quarterdeck.cel.library.authorizer import Answer

        user = self._user
        if attributes.user and attributes.user != user.name:
            user = User(name=attributes.user)
        asked = Attributes(
            verb=attributes.verb,
            group=attributes.group,
            resource=attributes.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
            path=attributes.path,
        )
        return Answer(allowed=self._ask(user, asked))

    def _ask(self, user: User, asked: Attributes) -> bool:
        if threading.get_ident() == self._thread:
            return self._authorizer.allows(user, asked)
        answer: concurrent.futures.Future[bool] = concurrent.futures.Future()

        def decide() -> None:
            try:
                answer.set_result(self._authorizer.allows(user, asked))
            except Exception as error:
                answer.set_exception(error)

        self._loop.call_soon_threadsafe(decide)
        return answer.result(_ANSWER_S)
