"""Conversion of custom resources by a webhook: the synchronous part. Pure.

Strategies are synchronous, a webhook call is not. So a strategy that needs an object in another
version calls its `Converter`, which returns what was converted before for the same request, and
raises `ConversionNeeded` for everything else. `server.core.conversion` then calls the webhook and
runs the request again. Definitions without a webhook do not use this module.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import quote
from quarterdeck.wire.status import ApiError
from quarterdeck.wire.webhook_response import MalformedResponse, decode_response

Object = dict[str, Any]
Key = tuple[str, bytes]

GROUP = "apiextensions.k8s.io"
_VERSIONS = ("v1", "v1beta1")
_CONVERTED_METADATA = ("labels", "annotations")
"""The members of the metadata that a webhook may change; the others are kept."""
_IDENTIFYING_METADATA = ("name", "namespace", "generateName", *_CONVERTED_METADATA)
_SAME = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))


class ConversionNeeded(Exception):
    """Raised when an object must be converted by a webhook first."""

    def __init__(self, converter: "Converter", value: Object, target: str) -> None:
        super().__init__(f"{value.get('apiVersion')} must be converted to {target}")
        self.converter = converter
        self.value = value
        self.target = target


class Converter:
    """The webhook of one definition, and the conversions that running requests need."""

    def __init__(
        self,
        kind: str,
        client_config: Mapping[str, Any],
        review_versions: Sequence[str],
        shape: Callable[[Object], None],
    ) -> None:
        self.kind = kind
        self.client_config = client_config
        self.review_version = next((each for each in review_versions if each in _VERSIONS), "")
        self._shape = shape
        self._known: dict[Key, bytes] = {}

    def convert(self, value: Object, target: str) -> Object:
        """Return an object in another version, if it was converted for this request.

        Raises:
            ConversionNeeded: if the webhook must be called first.
        """
        found = self._known.get(_build_key(value, target))
        if found is None:
            raise ConversionNeeded(self, value, target)
        return self.finish(value, kit_json.decode(found), target)

    def remember(self, value: Object, target: str, converted: Object) -> Key:
        """Keep the result of a webhook until `forget` is called with the returned key."""
        key = _build_key(value, target)
        self._known[key] = kit_json.encode(converted)
        return key

    def forget(self, key: Key) -> None:
        """Drop a result; a later request calls the webhook again."""
        self._known.pop(key, None)

    def build_review(self, values: Sequence[Object], target: str, uid: str) -> Object:
        """Build the ConversionReview for objects.

        Raises:
            ApiError: if the definition has no supported version of the review.
        """
        if not self.review_version:
            raise ApiError("no supported conversion review versions", code=500)
        return {
            "kind": "ConversionReview",
            "apiVersion": f"{GROUP}/{self.review_version}",
            "request": {"uid": uid, "desiredAPIVersion": target, "objects": list(values)},
        }

    def parse_response(
        self, body: bytes, values: Sequence[Object], target: str, *, uid: str
    ) -> list[Object]:
        """Return the converted objects of a response, in order.

        Raises:
            ApiError: with Kubernetes' text, if the response is invalid.
        """
        try:
            answer = decode_response(body)
            objects = self._read(answer, uid)
        except (MalformedResponse, _Refused) as error:
            raise self.build_error(values[0], f"failed: {error}") from error
        if len(objects) != len(values):
            text = f"returned {len(objects)} objects, expected {len(values)}"
            raise self.build_error(values[0], text)
        for index, (value, converted) in enumerate(zip(values, objects, strict=True)):
            self._check(value, converted, target, index)
        return objects

    def build_error(self, value: Object, text: str) -> ApiError:
        """Build the 500 for a request whose objects cannot be converted."""
        gvk = f"{value.get('apiVersion')}, Kind={self.kind}"
        return ApiError(f"conversion webhook for {gvk} {text}", code=500)

    def finish(self, value: Object, converted: Object, target: str) -> Object:
        """Return a converted object with the metadata of the original, pruned.

        Only labels and annotations are taken from the webhook, so that it cannot lose owners,
        finalizers or field managers.
        """
        changed = converted.get("metadata") or {}
        metadata = {
            name: each
            for name, each in value["metadata"].items()
            if name not in _CONVERTED_METADATA
        }
        for name in _CONVERTED_METADATA:
            if isinstance(changed.get(name), dict):
                metadata[name] = changed[name]
        result = {**converted, "apiVersion": target, "kind": self.kind, "metadata": metadata}
        self._shape(result)
        return result

    def _read(self, answer: Object, uid: str) -> list[Any]:
        response = answer.get("response")
        if self.review_version == "v1":
            wanted = (f"{GROUP}/v1", "ConversionReview")
            found = (answer.get("apiVersion") or "", answer.get("kind") or "")
            if found != wanted:
                raise _Refused(
                    f"expected webhook response of {', Kind='.join(wanted)}, got"
                    f" {', Kind='.join(map(str, found))}"
                )
        if not isinstance(response, dict):
            raise _Refused("no response provided")
        if self.review_version == "v1" and response.get("uid") != uid:
            got = quote(str(response.get("uid") or ""))
            raise _Refused(f'expected response.uid="{uid}", got {got}')
        result = response.get("result")
        status = result.get("status") if isinstance(result, dict) else ""
        if status != "Success":
            message = result.get("message") if isinstance(result, dict) else ""
            raise _Refused(message or f"response.result.status was '{status or ''}', not 'Success'")
        objects = response.get("convertedObjects") or []
        return objects if isinstance(objects, list) else []

    def _check(self, value: Object, converted: Any, target: str, index: int) -> None:
        if not isinstance(converted, dict):
            raise self.build_error(
                value, f"returned invalid object at index {index}: not an object"
            )
        for member, name, wanted in (
            ("apiVersion", "groupVersion", target),
            ("kind", "kind", self.kind),
        ):
            if (found := converted.get(member) or "") != wanted:
                text = f"invalid {name} (expected {wanted}, received {found})"
                raise self.build_error(value, f"returned invalid object at index {index}: {text}")
        metadata = converted.get("metadata")
        if not isinstance(metadata, dict):
            text = "returned invalid metadata: missing metadata in converted object"
            raise self.build_error(value, text)
        for member, shown in _SAME:
            before, after = value["metadata"].get(member) or "", metadata.get(member) or ""
            if before != after:
                text = f"must have the same {shown}: {before} != {after}"
                raise self.build_error(value, f"returned invalid object: {text}")
        for member in _CONVERTED_METADATA:
            if not _is_text_map(metadata.get(member)):
                text = f"invalid metadata.{member} in converted object: not a map of strings"
                raise self.build_error(value, f"returned invalid metadata: {text}")


class _Refused(Exception):
    """Raised when a webhook refuses a conversion, or its answer is invalid."""


def _is_text_map(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _build_key(value: Object, target: str) -> Key:
    """Build the key of a conversion: the target, and the object without server-set metadata.

    A generated name is left out, because it differs each time the request runs.
    """
    metadata = value.get("metadata") or {}
    reduced = {name: metadata[name] for name in _IDENTIFYING_METADATA if name in metadata}
    if metadata.get("generateName"):
        reduced.pop("name", None)
    return target, kit_json.encode({**value, "metadata": reduced})
