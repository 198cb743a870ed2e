"""Calls conversion webhooks of custom resources: the asynchronous part of conversion.

`registry.conversion` explains the two parts. Reads convert stored entries in batches. A handler
that needs any other conversion raises `ConversionNeeded` and is run again with the result.
"""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.webhooks.caller import CallFailed, WebhookCaller
from quarterdeck.server.admission.webhooks.registration import parse_client
from quarterdeck.server.registry.conversion import ConversionNeeded, Converter, Key
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Entry, StoreEvent
from quarterdeck.wire.status import InternalError

_ATTEMPTS = 32
"""How often a handler is run again, each time with one more conversion: enough for any request."""
_BATCH = 256
_TIMEOUT_S = 30

T = TypeVar("T")


class Conversions:
    """Calls the conversion webhooks of one server."""

    def __init__(self, caller: WebhookCaller, rng: random.Random) -> None:
        self._caller = caller
        self._random = rng

    async def retry_with_conversions(
        self, action: Callable[[], Awaitable[T]], needed: ConversionNeeded
    ) -> T:
        """Run an action again until it needs no further conversion; each attempt adds one.

        Raises:
            ApiError: if a webhook cannot convert an object.
        """
        kept: list[tuple[Converter, Key]] = []
        try:
            for _ in range(_ATTEMPTS):
                converter, value, target = needed.converter, needed.value, needed.target
                [converted] = await self._call_webhook(converter, [value], target)
                kept.append((converter, converter.remember(value, target, converted)))
                try:
                    return await action()
                except ConversionNeeded as error:
                    needed = error
        finally:
            for converter, key in kept:
                converter.forget(key)
        raise InternalError.of(f"the request requires more than {_ATTEMPTS} conversions")

    async def convert_to_stored(self, resource: Resource, value: Object) -> Object | None:
        """Convert an object to its stored version; None if that needs no webhook.

        Raises:
            ApiError: if the webhook cannot convert it.
        """
        converter, target = resource.converter, resource.stored_api_version
        if converter is None or value.get("apiVersion") == target:
            return None
        [converted] = await self._call_webhook(converter, [value], target)
        return converter.finish(value, converted, target)

    async def convert_entries(self, resource: Resource, entries: Sequence[Entry]) -> list[Entry]:
        """Convert stored entries to the version of a resource.

        Raises:
            ApiError: if the webhook cannot convert one of them.
        """
        values = await self._convert_values(resource, [entry.value for entry in entries])
        return [
            entry
            if value is entry.value
            else Entry(
                key=entry.key,
                revision=entry.revision,
                created_revision=entry.created_revision,
                value=value,
            )
            for entry, value in zip(entries, values, strict=True)
        ]

    async def convert_events(
        self, resource: Resource, events: Sequence[StoreEvent]
    ) -> list[StoreEvent]:
        """Convert the objects of events to the version of a resource.

        Raises:
            ApiError: if the webhook cannot convert one of them.
        """
        if resource.converter is None:
            return list(events)
        entries = [each for event in events for each in (event.before, event.after) if each]
        converted = iter(await self.convert_entries(resource, entries))
        graves = [event.tombstone for event in events if event.tombstone is not None]
        tombstones = iter(await self._convert_values(resource, graves))
        return [
            StoreEvent(
                revision=event.revision,
                key=event.key,
                before=next(converted) if event.before else None,
                after=next(converted) if event.after else None,
                tombstone=next(tombstones) if event.tombstone is not None else None,
            )
            for event in events
        ]

    async def _convert_values(self, resource: Resource, values: Sequence[bytes]) -> list[bytes]:
        converter, target = resource.converter, resource.api_version
        results = list(values)
        if converter is None:
            return results
        waiting: list[tuple[int, Object]] = []
        for position, value in enumerate(values):
            decoded: Object = kit_json.decode(value)
            if decoded.get("apiVersion") != target:
                waiting.append((position, decoded))
        for start in range(0, len(waiting), _BATCH):
            batch = waiting[start : start + _BATCH]
            originals = [original for _, original in batch]
            answers = await self._call_webhook(converter, originals, target)
            for (position, original), answer in zip(batch, answers, strict=True):
                results[position] = kit_json.encode(converter.finish(original, answer, target))
        return results

    async def _call_webhook(
        self, converter: Converter, values: Sequence[Object], target: str
    ) -> list[Object]:
        uid = generate_uid(self._random)
        request = converter.build_review(values, target, uid)
        client = parse_client(converter.client_config)
        try:
            body = await self._caller.call(client, request, timeout_s=_TIMEOUT_S)
        except CallFailed as error:
            raise converter.build_error(values[0], f"failed: {error}") from error
        return converter.parse_response(body, values, target, uid=uid)
