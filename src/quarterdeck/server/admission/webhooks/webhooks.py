"""The webhooks of one server: both kinds, and what they share."""

import random

from quarterdeck.server.admission.computation import Computations
from quarterdeck.server.admission.plugin import AsyncPlugin
from quarterdeck.server.admission.webhooks.caller import WebhookCaller
from quarterdeck.server.admission.webhooks.dispatcher import (
    MUTATING,
    VALIDATING,
    MutatingWebhooks,
    ValidatingWebhooks,
    WebhookDispatcher,
)
from quarterdeck.server.admission.webhooks.observer import Observer
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.storage import Store


class Webhooks:
    """Mutating and validating webhooks, called over shared connections."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        authorizer: Authorizer,
        *,
        caller: WebhookCaller,
        rng: random.Random,
        observer: Observer,
        computations: Computations,
    ) -> None:
        self.caller = caller

        def build_dispatcher() -> WebhookDispatcher:
            return WebhookDispatcher(
                store,
                registry,
                self.caller,
                rng=rng,
                authorizer=authorizer,
                observer=observer,
                computations=computations,
            )

        self._dispatchers = {MUTATING: build_dispatcher(), VALIDATING: build_dispatcher()}
        self.mutating = MutatingWebhooks(self._dispatchers[MUTATING])
        self.validating = ValidatingWebhooks(self._dispatchers[VALIDATING])

    def choose(self, *, mutating: bool, validating: bool) -> tuple[AsyncPlugin, ...]:
        """The plugins that are switched on, mutating webhooks first."""
        chosen: list[AsyncPlugin] = [self.mutating] if mutating else []
        if validating:
            chosen.append(self.validating)
        return tuple(chosen)

    def start(self) -> None:
        """Read the configurations, and follow their changes from now on."""
        for resource, dispatcher in self._dispatchers.items():
            dispatcher.start(resource)

    async def aclose(self) -> None:
        """Close the connections to webhooks."""
        await self.caller.aclose()
