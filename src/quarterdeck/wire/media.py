"""Media types: what a client accepts, and what a body is."""

import functools

import msgspec

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class MediaRange(msgspec.Struct, frozen=True):
    """One entry of an Accept header, or a Content-Type."""

    type: str
    parameters: tuple[tuple[str, str], ...] = ()
    quality: float = 1.0

    def get(self, name: str) -> str:
        """A parameter's value, empty if absent."""
        for key, value in self.parameters:
            if key == name:
                return value
        return ""

    def includes(self, media_type: str) -> bool:
        """Whether it covers a type, wildcards included."""
        if self.type in ("*/*", media_type):
            return True
        return self.type.endswith("/*") and media_type.startswith(self.type[:-1])


@functools.lru_cache(maxsize=512)
def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """The entries of an Accept header, best first; an empty header accepts anything."""
    ranges = [parse_media_type(part) for part in header.split(",") if part.strip()]
    if not ranges:
        return (MediaRange("*/*"),)
    return tuple(sorted(ranges, key=lambda each: -each.quality))


@functools.lru_cache(maxsize=512)
def parse_media_type(text: str) -> MediaRange:
    """One media type with its parameters; the quality is taken out of them."""
    kind, *rest = (part.strip() for part in text.split(";"))
    quality = 1.0
    parameters = []
    for part in rest:
        name, _, value = part.partition("=")
        name, value = name.strip().lower(), value.strip().strip('"')
        if name == "q":
            quality = _parse_quality(value)
        elif name:
            parameters.append((name, value))
    return MediaRange(kind.lower(), tuple(parameters), quality)


def _parse_quality(text: str) -> float:
    try:
        return max(0.0, min(1.0, float(text)))
    except ValueError:
        return 1.0
