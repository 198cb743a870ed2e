"""The routes that write, which are more lenient than Kubernetes.

A missing namespace is created, an update without a resource version reads one and retries, and a
deletion answers `Success` while finalizers still run. Everything is written through the API, with
its defaults, checks and versions.
"""

import asyncio
import random
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec

from quarterdeck.client.interfaces import Api
from quarterdeck.kit import json
from quarterdeck.kit.backoff import Backoff
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import BodyTooLarge, Request, Response
from quarterdeck.meta.structural.scalars import type_name
from quarterdeck.services.applications import errors
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, DeleteOptions, GetOptions, UpdateOptions
from quarterdeck.wire.status import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    NotFound,
    RequestEntityTooLarge,
)

MAX_BODY = 1024 * 1024
Options = TypeVar("Options", CreateOptions, UpdateOptions)
_TRIES = 10
_FIELD_MANAGER = "quarterdeck-http"
_EXISTING_NAMESPACE = "default"


class Resources:
    """Creates, replaces and deletes applications."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._random = random.Random()
        self._turns: WeakValueDictionary[ResourcePath, asyncio.Lock] = WeakValueDictionary()

    async def create(self, request: Request, path: ResourcePath) -> Response:
        """POST: 201 with the object; creates its namespace if it does not exist."""
        body = await _read_body(request)
        if isinstance(body, Response):
            return body
        options = _set_field_manager(CreateOptions.parse(request.query))
        encoded = json.encode(body)
        try:
            return await self._create(path, encoded, options)
        except NotFound as error:
            if not _is_namespace(error):
                raise
        await self._check(path, body, options)
        await self._make_namespace(path.namespace, options)
        return await self._create(path, encoded, options)

    async def _create(self, path: ResourcePath, body: bytes, options: CreateOptions) -> Response:
        return Response(201, errors.JSON, await self._api.create(path, body, options))

    async def _check(
        self, path: ResourcePath, body: dict[str, Any], options: CreateOptions
    ) -> None:
        """Refuse an invalid object before a namespace is created for it.

        The server checks the namespace first, so the dry run uses a namespace that exists.
        """
        metadata = body.get("metadata")
        if isinstance(metadata, dict) and metadata.get("namespace") == path.namespace:
            body = {**body, "metadata": {**metadata, "namespace": _EXISTING_NAMESPACE}}
        tried = msgspec.structs.replace(options, dry_run=("All",))
        try:
            there = path._replace(namespace=_EXISTING_NAMESPACE)
            await self._api.create(there, json.encode(body), tried)
        except (BadRequest, Invalid):
            raise
        except ApiError:
            pass  # the error is about that namespace, such as a name that exists there

    async def _make_namespace(self, name: str, options: CreateOptions) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        path = ResourcePath("", "v1", "namespaces")
        made = CreateOptions(dry_run=options.dry_run, field_manager=_FIELD_MANAGER)
        try:
            await self._api.create(path, json.encode(body), made)
        except AlreadyExists:
            pass  # created concurrently

    async def replace(self, request: Request, path: ResourcePath) -> Response:
        """PUT: 200 with the object. Without a resource version the newest one is replaced."""
        body = await _read_body(request)
        if isinstance(body, Response):
            return body
        options = _set_field_manager(UpdateOptions.parse(request.query))
        metadata = body.get("metadata")
        if not isinstance(metadata, dict):
            metadata = {}
        if metadata.get("resourceVersion"):
            return _build_ok(await self._api.update(path, json.encode(body), options))
        async with self._turns.setdefault(path, asyncio.Lock()):
            return await self._replace_newest(path, {**body, "metadata": metadata}, options)

    async def _replace_newest(
        self, path: ResourcePath, body: dict[str, Any], options: UpdateOptions
    ) -> Response:
        """Replace the newest version; conflicts with other clients are retried."""
        pause = Backoff(initial_s=0.005, factor=1.5, cap_s=0.05, random=self._random)
        for tries_left in reversed(range(_TRIES)):
            current = json.decode(await self._api.get(path, GetOptions()))
            try:
                replaced = {
                    **body,
                    "metadata": _merge_metadata(current["metadata"], body["metadata"]),
                }
                return _build_ok(await self._api.update(path, json.encode(replaced), options))
            except Conflict:
                if not tries_left:
                    raise
                await self._clock.sleep(pause.next())  # the other write is soon done
        raise AssertionError("unreachable")

    async def delete(self, request: Request, path: ResourcePath) -> Response:
        """DELETE: 200 with `status: Success`, also while its finalizers still run."""
        options = await _read_delete_options(request)
        answered: dict[str, Any] = json.decode(await self._api.delete(path, options))
        metadata = answered.get("metadata") or {}
        details = answered.get("details") or {}
        return errors.answer(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": {
                    "name": path.name,
                    "group": path.group,
                    "kind": path.resource,
                    "uid": details.get("uid") or metadata.get("uid", ""),
                },
            }
        )


async def _read_delete_options(request: Request) -> DeleteOptions:
    """The options of a deletion, from query and body; the body wins, as in Kubernetes.

    Raises:
        ApiError: if they are invalid, so that nothing is deleted by mistake.
    """
    options = DeleteOptions.parse(request.query)
    try:
        data = await request.read(MAX_BODY)
    except BodyTooLarge as error:
        raise RequestEntityTooLarge(f"the body is larger than {MAX_BODY} bytes") from error
    if not data:
        return options
    try:
        document = json.decode(data)
    except json.JsonError as error:
        raise BadRequest(f"cannot decode DeleteOptions: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest("DeleteOptions must be an object")
    return DeleteOptions.from_body({"dryRun": list(options.dry_run)} | document)


def _set_field_manager(options: Options) -> Options:
    """Set the options that the caller leaves open.

    The field manager is that of this API, not of the operator whose client is used. Unknown fields
    are refused, as with kubectl, not dropped silently.
    """
    return msgspec.structs.replace(
        options,
        field_manager=options.field_manager or _FIELD_MANAGER,
        field_validation=options.field_validation or "Strict",
    )


def _build_ok(body: bytes) -> Response:
    return Response(200, errors.JSON, body)


def _merge_metadata(current: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Merge given metadata into the current one: fields that are not given stay as they are."""
    return {**current, **given, "resourceVersion": current["resourceVersion"]}


def _is_namespace(error: ApiError) -> bool:
    return error.details is not None and error.details.kind == "namespaces"


async def _read_body(request: Request) -> dict[str, Any] | Response:
    """Read the body as an object, or return the error response."""
    try:
        data = await request.read(MAX_BODY)
    except BodyTooLarge:
        return errors.build_too_large(MAX_BODY)
    try:
        body = json.decode(data)
    except json.JsonError as error:
        return errors.build_invalid_json(str(error))
    if not isinstance(body, dict):
        return errors.build_invalid_json(f"its type is {type_name(body)}")
    if duplicates := json.find_duplicate_keys(data):
        raise BadRequest(f"duplicate members in the body: {', '.join(duplicates[:5])}")
    return body
