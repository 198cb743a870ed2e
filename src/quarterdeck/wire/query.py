"""Query options of every verb, typed on both sides: `parse(options.build()) == options`.

Booleans follow Kubernetes: anything but `0` and `false` is true, so `watch=True` and a bare `watch`
are. Values that cannot be parsed are a 400 here; checks that answer 422 are in the server.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from quarterdeck.kit.percent import quote
from quarterdeck.meta.identity import GVK
from quarterdeck.wire.status import BadRequest

_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_MAX_DIGITS = 19
"""Numbers with more digits are out of range; Python refuses to parse thousands of digits."""


class _Options(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base of the options of all verbs: parsing from and building of query strings."""

    @classmethod
    def parse(cls, query: str) -> Self:
        """Read a raw query string; parameters of other verbs are ignored.

        Raises:
            BadRequest: if a number cannot be parsed.
        """
        if not query:
            return cls()
        return cls.from_parameters(parse_query(query))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, list[str]]) -> Self:
        """Build the options from parameters that are parsed already."""
        readers = _READERS[cls]
        members = {
            name: read(parameters[wire])
            for wire, (name, read) in readers.items()
            if wire in parameters
        }
        return cls(**members)

    def build(self) -> str:
        """Build the query string; members at their default are left out."""
        return _build(self)


class GetOptions(_Options, frozen=True):
    """GET of one object."""

    resource_version: str = ""
    pretty: bool = False


class ListOptions(_Options, frozen=True, rename="camel"):
    """LIST, WATCH and DELETECOLLECTION."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    resource_version: str = ""
    resource_version_match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_: str = msgspec.field(default="", name="continue")
    send_initial_events: bool | None = None
    pretty: bool = False


class PodLogOptions(_Options, frozen=True):
    """GET of `pods/log`."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    since_seconds: int | None = None
    since_time: str = ""
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None


class CreateOptions(_Options, frozen=True):
    """POST of an object."""

    dry_run: tuple[str, ...] = ()
    field_manager: str = ""
    field_validation: str = ""
    pretty: bool = False


class UpdateOptions(CreateOptions, frozen=True):
    """PUT of an object."""


class PatchOptions(CreateOptions, frozen=True):
    """PATCH of an object; `force` belongs to server-side apply."""

    force: bool | None = None


class Preconditions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What must hold for a deletion to happen."""

    uid: str | None = None
    resource_version: str | None = None


_DELETE_OPTIONS = GVK("", "v1", "DeleteOptions")


class DeleteOptions(_Options, frozen=True):
    """DELETE, in the query or in the body; the body wins."""

    dry_run: tuple[str, ...] = ()
    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Read a DeleteOptions object.

        Raises:
            BadRequest: naming the member of the wrong type.
        """
        try:
            return msgspec.convert(dict(body), cls)
        except msgspec.ValidationError as error:
            from quarterdeck.meta import builtins  # only to say what is wrong

            problem = builtins.decode(body, _DELETE_OPTIONS).error
            raise BadRequest(problem or "cannot decode DeleteOptions") from error

    def to_body(self) -> dict[str, Any]:
        """The DeleteOptions object to send."""
        members: dict[str, Any] = msgspec.to_builtins(self)
        return {"apiVersion": "v1", "kind": "DeleteOptions", **members}


@functools.lru_cache(maxsize=1024)
def _build(options: _Options) -> str:
    """Build a query string; cached, because a client sends the same few options often."""
    pairs: list[str] = []
    for name, value in msgspec.to_builtins(options).items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs.extend(f"{name}={quote(_format_value(each))}" for each in values)
    return "&".join(pairs)


def parse_query(query: str) -> dict[str, list[str]]:
    """Parse a raw query string to lists of values by name; blank values are kept."""
    from urllib.parse import parse_qsl  # for servers; clients only build queries

    parameters: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        parameters.setdefault(name, []).append(value)
    return parameters


def parse_bool(text: str) -> bool:
    """Parse a boolean parameter as Kubernetes does: all but `0` and `false` are true."""
    return text != "0" and text.lower() != "false"


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _read_bool(values: list[str]) -> bool:
    return parse_bool(values[0])


def _read_text(values: list[str]) -> str:
    return values[0]


def _read_list(values: list[str]) -> tuple[str, ...]:
    return tuple(values)


def _read_int(values: list[str]) -> int:
    text = values[0]
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    size = digits.lstrip("0")
    number = int(size[: _MAX_DIGITS + 1] or "0") * (-1 if text[:1] == "-" else 1)
    if not _MIN_INT64 <= number <= _MAX_INT64:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


_BY_TYPE: dict[Any, Callable[[list[str]], Any]] = {
    str: _read_text,
    str | None: _read_text,
    bool: _read_bool,
    bool | None: _read_bool,
    int: _read_int,
    int | None: _read_int,
    tuple[str, ...]: _read_list,
}


def _list_readers(options: type[_Options]) -> dict[str, tuple[str, Callable[[list[str]], Any]]]:
    return {
        each.encode_name: (each.name, _BY_TYPE[each.type])
        for each in msgspec.structs.fields(options)
        if each.type in _BY_TYPE
    }


_READERS: dict[type[_Options], dict[str, tuple[str, Callable[[list[str]], Any]]]] = {
    each: _list_readers(each)
    for each in (
        GetOptions,
        ListOptions,
        PodLogOptions,
        CreateOptions,
        UpdateOptions,
        PatchOptions,
        DeleteOptions,
    )
}
