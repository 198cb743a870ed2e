"""Conversion between the versions of a kind: a hub, and spokes around it.

One version is the hub. Every other one is a `Spoke` with two functions, to the hub and from it, so
that a new version needs two functions, however many versions there are. An API server calls one
path for all kinds; of the metadata, functions can change only labels and annotations.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from quarterdeck.kit import json
from quarterdeck.meta.objects import DecodeError, Object, decode, to_builtins

PATH = "/convert"
"""The path at which controller-runtime serves conversions."""
_VERSIONS = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
_KIND = "ConversionReview"
_CONVERTED_METADATA = ("labels", "annotations")

H = TypeVar("H", bound=Object)
S = TypeVar("S", bound=Object)


class Spoke(NamedTuple, Generic[S, H]):
    """A version of a kind, with its conversions to the hub and from the hub."""

    kind: type[S]
    to_hub: Callable[[S], H]
    from_hub: Callable[[H], S]


class ConversionError(ValueError):
    """Raised when an object cannot be converted; the message goes to the API server.

    Functions of a `Spoke` may raise it, or any ValueError, to say what is wrong with an object.
    """


class MalformedConversionError(ValueError):
    """Raised when a body is not a ConversionReview; the message names the problem."""


class Conversion(Generic[H]):
    """The versions of one kind."""

    def __init__(self, hub: type[H], spokes: Sequence[Spoke[Any, H]]) -> None:
        """Collect the versions.

        Raises:
            ValueError: if a spoke is of another kind, or a version is declared twice.
        """
        self.hub = hub
        self._spokes: dict[str, Spoke[Any, H]] = {}
        for spoke in spokes:
            info = spoke.kind.KIND
            if (info.group, info.kind) != (hub.KIND.group, hub.KIND.kind):
                raise ValueError(
                    f"cannot convert between {hub.KIND.kind}.{hub.KIND.group} and"
                    f" {info.kind}.{info.group}: a spoke must be a version of the same kind"
                )
            if info.version in self._spokes or info.version == hub.KIND.version:
                raise ValueError(f"version {info.version} of {info.kind} is declared twice")
            self._spokes[info.version] = spoke

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions, the hub's first."""
        return (self.hub.KIND.version, *self._spokes)

    def convert(self, value: Mapping[str, Any], target: str) -> dict[str, Any]:
        """Convert a decoded JSON object to another version.

        Raises:
            ConversionError: if that is not possible.
        """
        version = str(value.get("apiVersion")).rpartition("/")[2]
        if version == target:
            return dict(value)
        converted = self._convert_from_hub(self._convert_to_hub(value, version), target)
        result: dict[str, Any] = to_builtins(converted)
        info = self.hub.KIND
        api_version = f"{info.group}/{target}" if info.group else target
        return {
            **result,
            "apiVersion": api_version,
            "kind": info.kind,
            "metadata": _merge_metadata(value.get("metadata") or {}, result.get("metadata") or {}),
        }

    def _convert_to_hub(self, value: Mapping[str, Any], version: str) -> H:
        if version == self.hub.KIND.version:
            return _decode(self.hub, value)
        spoke = self._find(version)
        return spoke.to_hub(_decode(spoke.kind, value))

    def _convert_from_hub(self, hub: H, target: str) -> Object:
        return hub if target == self.hub.KIND.version else self._find(target).from_hub(hub)

    def _find(self, version: str) -> Spoke[Any, H]:
        if version not in self._spokes:
            known = ", ".join(self.versions)
            raise ConversionError(
                f"{self.hub.KIND.kind} has no version {version!r}: must be one of {known}"
            )
        return self._spokes[version]


class ConversionHook:
    """Answers the ConversionReviews of all kinds."""

    def __init__(self) -> None:
        self.conversions: dict[tuple[str, str], Conversion[Any]] = {}

    def add(self, conversion: Conversion[Any]) -> None:
        """Add a kind.

        Raises:
            ValueError: if it is there already.
        """
        info = conversion.hub.KIND
        if (info.group, info.kind) in self.conversions:
            raise ValueError(f"conversions of {info.kind}.{info.group} were added twice")
        self.conversions[(info.group, info.kind)] = conversion

    def handle(self, body: bytes) -> bytes:
        """Convert all objects of a review; the response has the error of the first that fails.

        Raises:
            MalformedConversionError: if the body is not a ConversionReview.
        """
        review = _decode_review(body)
        request = review["request"]
        response: dict[str, Any] = {"uid": request.get("uid") or ""}
        try:
            objects = [
                self._convert(value, str(request.get("desiredAPIVersion")))
                for value in request.get("objects") or ()
            ]
        except ValueError as error:
            response["result"] = {"status": "Failure", "message": str(error)}
        else:
            response |= {"result": {"status": "Success"}, "convertedObjects": objects}
        return json.encode(
            {"kind": _KIND, "apiVersion": review["apiVersion"], "response": response}
        )

    def _convert(self, value: Any, desired: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ConversionError("request.objects: every item must be an object")
        group = str(value.get("apiVersion")).rpartition("/")[0]
        conversion = self.conversions.get((group, str(value.get("kind"))))
        if conversion is None:
            raise ConversionError(
                f"no conversion is registered for {value.get('kind')} of {value.get('apiVersion')}"
            )
        name = (value.get("metadata") or {}).get("name") or ""
        try:
            return conversion.convert(value, desired.rpartition("/")[2])
        except ConversionError:
            raise
        except ValueError as error:
            raise ConversionError(f"{value.get('kind')} {name!r}: {error}") from error


def _decode_review(body: bytes) -> dict[str, Any]:
    if not body:
        raise MalformedConversionError("request body is empty")
    try:
        review = json.decode(body)
    except ValueError as error:
        raise MalformedConversionError(f"not a ConversionReview: {error}") from error
    if not isinstance(review, dict) or review.get("kind") != _KIND:
        raise MalformedConversionError(f"expected kind {_KIND}")
    if review.get("apiVersion") not in _VERSIONS:
        raise MalformedConversionError(
            f"expected apiVersion {' or '.join(_VERSIONS)}; got {review.get('apiVersion')!r}"
        )
    if not isinstance(review.get("request"), dict):
        raise MalformedConversionError("request: Required value")
    return review


def _decode(kind: type[S], value: Mapping[str, Any]) -> S:
    try:
        return decode(kind, json.encode(value))
    except (DecodeError, msgspec.ValidationError) as error:
        raise ConversionError(f"{kind.KIND.kind} of {kind.KIND.version}: {error}") from error


def _merge_metadata(original: Mapping[str, Any], converted: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of the original, with labels and annotations of the converted object."""
    kept = {name: each for name, each in original.items() if name not in _CONVERTED_METADATA}
    return kept | {name: converted[name] for name in _CONVERTED_METADATA if converted.get(name)}
