"""Calls webhooks for writes: mutating ones in order, validating ones concurrently.

Configurations are read from the store when they change. A server without any webhook never waits.
"""

import asyncio
import functools
import random
from collections.abc import Iterable, Sequence

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import quote
from quarterdeck.server.admission import match_conditions
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.computation import Computations, MakeBudget
from quarterdeck.server.admission.match_conditions import ConditionFailed
from quarterdeck.server.admission.matching import (
    EquivalentResources,
    find_match,
    is_exempt,
    matches_labels,
    matches_namespace,
)
from quarterdeck.server.admission.request import measure_objects
from quarterdeck.server.admission.subject import build_subject
from quarterdeck.server.admission.webhooks import review
from quarterdeck.server.admission.webhooks.caller import CallFailed, WebhookCaller
from quarterdeck.server.admission.webhooks.candidates import Candidates
from quarterdeck.server.admission.webhooks.observer import Observer, annotate_mutation
from quarterdeck.server.admission.webhooks.registration import (
    FailurePolicy,
    Webhook,
    parse_webhooks,
)
from quarterdeck.server.admission.webhooks.review import InvalidResponse, Verdict
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Store, StoreEvent, StoreKey
from quarterdeck.wire.status import InternalError

_GROUP = "admissionregistration.k8s.io"
_MAX_WARNINGS_BYTES = 4096
_MAX_WARNING = 256
"""Length to which a warning is cut if all warnings together exceed `_MAX_WARNINGS_BYTES`."""
_MUTATING_PLUGIN = "MutatingAdmissionWebhook"
MUTATING = f"mutatingwebhookconfigurations.{_GROUP}"
VALIDATING = f"validatingwebhookconfigurations.{_GROUP}"


class WebhookDispatcher:
    """Reads the configurations of one kind of webhooks, and calls a webhook for a write."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        caller: WebhookCaller,
        *,
        rng: random.Random,
        authorizer: Authorizer,
        observer: Observer,
        computations: Computations,
    ) -> None:
        self._computations = computations
        self._observer = observer
        self._store = store
        self._registry = registry
        self._caller = caller
        self._random = rng
        self._authorizer = authorizer
        self._equivalents = EquivalentResources(registry)
        self._candidates = Candidates(registry, self._equivalents)
        self._by_configuration: dict[str, tuple[Webhook, ...]] = {}
        self.webhooks: tuple[Webhook, ...] = ()

    def start(self, resource: str) -> None:
        """Read the configurations of one kind, and follow their changes from now on."""
        for entry in self._store.snapshot().range(resource):
            self._put(entry.key, entry.value)
        self._sort()
        self._store.subscribe(functools.partial(self._apply_events, resource))

    def find_candidates(self, attributes: AdmissionAttributes) -> Sequence[tuple[int, Webhook]]:
        """Return the webhooks whose rules may match a write, each with its index among all."""
        return self._candidates.find(attributes)

    async def call(
        self, webhook: Webhook, attributes: AdmissionAttributes, index: int
    ) -> Verdict | None:
        """Call one webhook; None if it does not match the write, or a failed call is ignored.

        `index` is its position among all webhooks of its kind, for the audit log.

        Raises:
            ApiError: if the webhook refuses the write, or the call fails and is not ignored.
        """
        seen_as = self._match(webhook, attributes)
        if seen_as is None or not await self._meets_conditions(webhook, attributes, seen_as):
            return None
        watch = self._observer.begin(webhook, attributes, index)
        uid = generate_uid(self._random)
        request = review.build_review(webhook, attributes, seen_as, uid=uid)
        try:
            try:
                body = await self._caller.call(webhook.client, request, timeout_s=webhook.timeout_s)
            except CallFailed as error:
                raise InvalidResponse(f"failed to call webhook: {error}") from error
            verdict = review.parse_response(
                body,
                uid=uid,
                version=review.choose_version(webhook),
                is_mutating=webhook.is_mutating,
            )
        except InvalidResponse as error:
            if webhook.failure_policy is FailurePolicy.IGNORE:
                watch.ignore_failure(error)
                return None
            watch.fail()
            text = f"failed calling webhook {quote(webhook.name)}: {error}"
            raise InternalError.of(text) from error
        _warn(attributes, verdict.warnings)
        for key, value in verdict.audit_annotations.items():
            attributes.audit_annotations[f"{webhook.name}/{key}"] = value
        if not verdict.is_allowed:
            refusal = review.build_status_error(webhook.name, verdict.status)
            watch.refuse(refusal.code)
            raise refusal
        watch.allow()
        return verdict

    def find_seen_as(self, webhook: Webhook, attributes: AdmissionAttributes) -> Resource | None:
        """Return the resource by which the rules of a webhook match a write; None if none does."""
        return find_match(
            webhook.rules,
            attributes,
            self._equivalents.get(attributes.resource),
            is_exact=webhook.is_exact,
        )

    def apply_patch(
        self, attributes: AdmissionAttributes, patch: bytes, seen_as: Resource
    ) -> Object:
        """Apply the patch of a webhook that sees the object as `seen_as`; return the object."""
        from quarterdeck.server.admission.webhooks.patch import apply_patch

        return apply_patch(attributes, patch, seen_as, registry=self._registry)

    def _match(self, webhook: Webhook, attributes: AdmissionAttributes) -> Resource | None:
        if is_exempt(attributes.resource.gvr):
            return None
        if not matches_labels(webhook.object_selector, attributes):
            return None
        if not matches_namespace(webhook.namespace_selector, attributes, self._store):
            return None
        return self.find_seen_as(webhook, attributes)

    async def _meets_conditions(
        self, webhook: Webhook, attributes: AdmissionAttributes, seen_as: Resource
    ) -> bool:
        if not webhook.conditions:
            return True
        subject = build_subject(self._authorizer, attributes)
        expressions = [each.expression for each in webhook.conditions]

        def match(make_budget: MakeBudget) -> bool:
            variables = match_conditions.build_variables(attributes, subject, seen_as)
            return match_conditions.match_conditions(
                expressions, variables, make_budget=make_budget
            )

        try:
            return await self._computations.begin().run(measure_objects(attributes), match)
        except ConditionFailed as error:
            if webhook.failure_policy is FailurePolicy.IGNORE:
                return False
            raise build_forbidden(attributes, str(error)) from error

    def _apply_events(self, resource: str, events: Sequence[StoreEvent]) -> None:
        changed = [event for event in events if event.key.resource == resource]
        for event in changed:
            if event.after is None:
                self._by_configuration.pop(event.key.name, None)
            else:
                self._put(event.key, event.after.value)
        if changed:
            self._sort()

    def _put(self, key: StoreKey, value: bytes) -> None:
        is_mutating = key.resource == MUTATING
        try:
            webhooks = tuple(parse_webhooks(kit_json.decode(value), is_mutating=is_mutating))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._by_configuration.pop(key.name, None)
            _report_unreadable(key, error)
            return
        self._by_configuration[key.name] = webhooks

    def _sort(self) -> None:
        """Order the webhooks by the names of their configurations."""
        names = sorted(self._by_configuration)
        self.webhooks = tuple(each for name in names for each in self._by_configuration[name])
        self._candidates.replace(self.webhooks)


class MutatingWebhooks:
    """Calls webhooks in order; each may change the object, and some are then called again."""

    def __init__(self, dispatcher: WebhookDispatcher) -> None:
        self._dispatcher = dispatcher

    @property
    def is_active(self) -> bool:
        """Whether there are webhooks to call."""
        return bool(self._dispatcher.webhooks)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Call the webhooks that match; in a second round those that must see later changes."""
        rounds = attributes.reinvocation
        invocations = rounds.get(_MUTATING_PLUGIN)
        if rounds.is_second:
            invocations.begin(attributes.value)
        for index, webhook in self._dispatcher.find_candidates(attributes):
            key = (webhook.configuration, webhook.name)
            if rounds.is_second and not invocations.is_due(key):
                continue
            verdict = await self._dispatcher.call(webhook, attributes, index)
            if verdict is None:
                continue
            is_changed = bool(verdict.patch) and self._apply(webhook, attributes, verdict.patch)
            annotate_mutation(webhook, attributes, index, is_changed=is_changed)
            if is_changed:
                invocations.require_previous()
                rounds.is_needed = True
            if webhook.is_reinvoked:
                invocations.add(key)
        invocations.end(attributes.value)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Do nothing; mutating webhooks are only called in `admit`."""

    def _apply(self, webhook: Webhook, attributes: AdmissionAttributes, patch: bytes) -> bool:
        """Apply a patch to the object; return whether the object changed."""
        seen_as = self._dispatcher.find_seen_as(webhook, attributes)
        assert seen_as is not None  # it was called
        before = attributes.value
        attributes.value = self._dispatcher.apply_patch(attributes, patch, seen_as)
        return attributes.value != before


class ValidatingWebhooks:
    """Calls webhooks concurrently; of several refusals the first in their order is returned."""

    def __init__(self, dispatcher: WebhookDispatcher) -> None:
        self._dispatcher = dispatcher

    @property
    def is_active(self) -> bool:
        """Whether there are webhooks to call."""
        return bool(self._dispatcher.webhooks)

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Do nothing; validating webhooks are only called in `validate`."""

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Call the webhooks that match with the final object."""
        candidates = self._dispatcher.find_candidates(attributes)
        if not candidates:
            return
        answers = await asyncio.gather(
            *(self._dispatcher.call(webhook, attributes, index) for index, webhook in candidates),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer


def _report_unreadable(key: StoreKey, error: Exception) -> None:
    """Report that a stored configuration is invalid; the server continues without it."""
    message = f"cannot decode {key.resource} {key.name!r}; it has no effect, write it again"
    context = {"message": message, "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)


def _warn(attributes: AdmissionAttributes, warnings: Iterable[str]) -> None:
    room = _MAX_WARNINGS_BYTES - sum(len(each.encode()) for each in attributes.warnings)
    for text in warnings:
        shown = text if len(text.encode()) <= room else text[:_MAX_WARNING]
        room -= len(shown.encode())
        if room < 0:
            return
        if shown not in attributes.warnings:
            attributes.warnings.append(shown)
