"""Finds the endpoint of a request, and decodes its parameters to a typed struct."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, get_args, get_origin
from urllib.parse import parse_qs

import msgspec

from quarterdeck.services.hub.call import Call
from quarterdeck.services.hub.errors import BadRequest, NotFound
from quarterdeck.services.hub.metrics import OTHER

Endpoint = Callable[[Call], Awaitable[Any]]
MAX_PARAMETERS = 256
_LIST_TYPES = (tuple, list)


class Login(Enum):
    """Whether an endpoint requires a login."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class NoParameters(msgspec.Struct, frozen=True, kw_only=True):
    """An endpoint without parameters."""


class Route(NamedTuple):
    """One endpoint. `path` has names in braces, each one segment."""

    method: str
    path: str
    endpoint: Endpoint
    summary: str
    result: Any
    parameters: type[msgspec.Struct] = NoParameters
    login: Login = Login.REQUIRED
    failures: tuple[int, ...] = ()
    """Statuses it answers with beside those that every endpoint has."""
    is_stream: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the path, in order."""
        parts = self.path.split("/")
        return tuple(each[1:-1] for each in parts if each.startswith("{"))


class Match(NamedTuple):
    """A route and the values of its path."""

    route: Route
    values: Mapping[str, str]


class WrongMethod(Exception):
    """Raised when a path exists with other methods only."""

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__(", ".join(allowed))
        self.allowed = tuple(allowed)


class Router:
    """Finds routes by path; exact segments win over named ones."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._by_length: dict[int, list[tuple[list[str], Route]]] = {}
        for route in routes:
            parts = route.path.strip("/").split("/")
            self._by_length.setdefault(len(parts), []).append((parts, route))

    def find(self, method: str, path: str) -> Match:
        """The route of a request.

        Raises:
            NotFound: if no route has the path.
            WrongMethod: if none of them has the method.
        """
        found = self._find_all(path)
        for each in found:
            if method == each.route.method or (method == "HEAD" and each.route.method == "GET"):
                return each
        raise WrongMethod(_list_methods(found))

    def list_methods(self, path: str) -> list[str]:
        """The methods of a path.

        Raises:
            NotFound: if no route has the path.
        """
        return _list_methods(self._find_all(path))

    def find_pattern(self, path: str) -> str:
        """The path pattern of the endpoint of a path; `other` if there is none."""
        try:
            return self._find_all(path)[0].route.path
        except NotFound:
            return OTHER

    def _find_all(self, path: str) -> list[Match]:
        parts = path.strip("/").split("/")
        found = [
            (_count_names(wanted), Match(route, values))
            for wanted, route in self._by_length.get(len(parts), ())
            if (values := _match(wanted, parts)) is not None
        ]
        if not found:
            raise NotFound("path not found; see /api/v1/openapi.json")
        return [match for _, match in sorted(found, key=lambda each: each[0])]


def _list_methods(found: Sequence[Match]) -> list[str]:
    methods = {each.route.method for each in found}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


def _match(wanted: Sequence[str], parts: Sequence[str]) -> dict[str, str] | None:
    values = {}
    for want, part in zip(wanted, parts, strict=True):
        if want.startswith("{"):
            if not part:
                return None
            values[want[1:-1]] = part.replace("%2F", "/").replace("%2f", "/")
        elif want != part:
            return None
    return values


def _count_names(parts: Sequence[str]) -> int:
    return sum(each.startswith("{") for each in parts)


def read_parameters(kind: type[msgspec.Struct], query: str) -> msgspec.Struct:
    """Parameters of the query; unknown ones are ignored.

    Raises:
        BadRequest: naming the parameter that is wrong.
    """
    try:
        given = parse_qs(
            query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS, errors="strict"
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise BadRequest(f"the query cannot be read: {error}") from error
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in given:
            continue
        found = given[field.encode_name]
        if is_list(field.type):
            values[field.encode_name] = found
        elif len(found) > 1:
            raise BadRequest(f"parameter {field.encode_name} was given {len(found)} times")
        else:
            values[field.encode_name] = found[0]
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(_describe(error, kind, values)) from error


def _describe(
    error: msgspec.ValidationError, kind: type[msgspec.Struct], values: Mapping[str, Any]
) -> str:
    """The message about a wrong parameter: its name, its value and the valid values."""
    text, _, place = str(error).replace("`", "").partition(" - at $.")
    if not place:
        return text.replace("Object missing required field", "missing parameter")
    name = place.partition("[")[0]
    types = {each.encode_name: each.type for each in msgspec.structs.fields(kind)}
    if choices := [repr(each) for each in get_args(types[name]) if isinstance(each, str) and each]:
        text = f"expected one of {', '.join(choices)}"
    else:
        text = text.replace("Expected", "expected").removesuffix(", got str")
    return f"invalid parameter {name}: {values[name]!r}: {text}"


def is_list(kind: Any) -> bool:
    """Whether a parameter may be given more than once."""
    origin = get_origin(kind)
    if origin in _LIST_TYPES:
        return True
    return any(get_origin(each) in _LIST_TYPES for each in get_args(kind))
