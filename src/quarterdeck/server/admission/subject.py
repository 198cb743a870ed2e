"""The value of `authorizer` in expressions: the user, the request and the authorizer.

Expressions may be evaluated in a thread, but roles change on the event loop. So the checks of a
thread run on the event loop too.
"""

import asyncio
import concurrent.futures
import threading
from typing import TYPE_CHECKING

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.authentication.service_accounts.claims import SUBJECT
from quarterdeck.server.authentication.user import User, list_account_groups
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer

if TYPE_CHECKING:
    from quarterdeck.cel.library import authorizer as cel_authorizer


def build_subject(
    authorizer: Authorizer, attributes: AdmissionAttributes
) -> "cel_authorizer.Subject":
    """Build the CEL authorizer for the user of a write."""
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


def _build_account(name: str) -> User:
    """Build the user for the service account that an expression names, as Kubernetes does."""
    namespace = name.removeprefix(SUBJECT).partition(":")[0]
    return User(name=name, groups=list_account_groups(namespace))


_ANSWER_S = 30.0
"""How long a thread waits for an answer; the event loop may have stopped with the server."""


class _Bridge:
    """Runs the permission checks of expressions with the authorizer of the server."""

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def decide(self, attributes: "cel_authorizer.Attributes") -> "cel_authorizer.Decision":
        """Decide whether the user, or the service account the expression names, is permitted."""
        from quarterdeck.cel.library.authorizer import Decision

        user = _build_account(attributes.user) if attributes.user else self._user
        asked = Attributes(
            verb=attributes.verb,
            group=attributes.group,
            resource=attributes.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
            path=attributes.path,
        )
        return Decision(allowed=self._is_allowed(user, asked))

    def _is_allowed(self, user: User, asked: Attributes) -> bool:
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
