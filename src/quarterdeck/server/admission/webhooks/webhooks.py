"""The webhooks of one server: both kinds, and what they share."""

import random
from typing import TYPE_CHECKING

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.webhooks.caller import WebhookCaller
from quarterdeck.server.admission.webhooks.dispatcher import (
    MUTATING,
    VALIDATING,
    MutatingWebhooks,
    ValidatingWebhooks,
    WebhookDispatcher,
)
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, Authorizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.storage import Store

if TYPE_CHECKING:
    from quarterdeck.cel.library import authorizer as cel_authorizer


class Webhooks:
    """Mutating and validating webhooks, called over shared connections."""

    def __init__(
        self, store: Store, registry: Registry, authorizer: Authorizer, *, rng: random.Random
    ) -> None:
        self.caller = WebhookCaller()

        def build_subject(attributes: AdmissionAttributes) -> "cel_authorizer.Subject":
            from quarterdeck.cel.library.authorizer import Subject

            return Subject(_Bridge(authorizer, attributes.user))

        def build_dispatcher() -> WebhookDispatcher:
            return WebhookDispatcher(
                store, registry, self.caller, rng=rng, authorizer_of=build_subject
            )

        self._dispatchers = {MUTATING: build_dispatcher(), VALIDATING: build_dispatcher()}
        self.mutating = MutatingWebhooks(self._dispatchers[MUTATING])
        self.validating = ValidatingWebhooks(self._dispatchers[VALIDATING])

    def start(self) -> None:
        """Read the configurations, and follow their changes from now on."""
        for resource, dispatcher in self._dispatchers.items():
            dispatcher.start(resource)

    async def aclose(self) -> None:
        """Close the connections to webhooks."""
        await self.caller.aclose()


class _Bridge:
    """Answers the questions of expressions for the user of a request."""

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user

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
        return Answer(allowed=self._authorizer.allows(user, asked))
