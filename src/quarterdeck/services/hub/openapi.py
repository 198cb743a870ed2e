"""The OpenAPI 3.1 document, generated from the table of routes and the types they name."""

from collections.abc import Sequence
from typing import Any

import msgspec

from quarterdeck import __version__
from quarterdeck.services.hub.router import Login, Route

_TEXTS = {
    400: "A parameter is missing, invalid or out of range.",
    401: "The request has no valid credentials.",
    403: "Access policies do not allow the request.",
    404: "The path or the object does not exist.",
    406: "The answer has a type that the request does not accept.",
    502: "The history does not answer.",
    503: "The store or the API server does not answer.",
}
REQUIRED = "x-required"
"""Marks a parameter as required whose absence the endpoint itself reports."""
_REF = "#/components/schemas/{name}"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every error response."""

    error: str


def build_document(routes: Sequence[Route]) -> dict[str, Any]:
    """The description of the API."""
    kinds = [each.result for each in routes if not each.is_stream]
    kinds += [each.parameters for each in routes]
    schemas, components = msgspec.json.schema_components(
        [*kinds, Failure], schema_hook=_describe_other, ref_template=_REF
    )
    results = iter(schemas)
    by_route = {id(each): next(results) for each in routes if not each.is_stream}
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _build_operation(
            route, by_route.get(id(route)), components
        )
    used = {name: each for name, each in components.items() if not _is_parameters(name, routes)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Quarterdeck hub",
            "version": __version__,
            "description": "State and history of clusters; policies decide what each user sees.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": used,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_other(kind: type) -> dict[str, Any]:
    """The schema of raw JSON: any value."""
    if kind is msgspec.Raw:
        return {}
    raise NotImplementedError


def _is_parameters(name: str, routes: Sequence[Route]) -> bool:
    return any(route.parameters.__name__ == name for route in routes)


def _build_operation(route: Route, result: Any, components: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in route.names
    ]
    declared = components.get(route.parameters.__name__, {})
    for name, declaration in declared.get("properties", {}).items():
        schema = dict(declaration)
        is_required = schema.pop(REQUIRED, False) or name in declared.get("required", ())
        if is_required:
            schema.pop("default", None)
        parameters.append({"name": name, "in": "query", "required": is_required, "schema": schema})
    answer = (
        {"text/event-stream": {"schema": {"type": "string"}}}
        if route.is_stream
        else {"application/json": {"schema": result}}
    )
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _build_operation_id(route),
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": answer}, **_failures(route)},
    }
    operation["security"] = {
        Login.NONE: [],
        Login.OPTIONAL: [{}, {"bearer": []}],
        Login.REQUIRED: [{"bearer": []}],
    }[route.login]
    return operation


def _failures(route: Route) -> dict[str, Any]:
    wanted = {400, 404} if route.names else {400}
    if route.login is not Login.NONE:
        wanted |= {401, 503}
    if route.login is Login.REQUIRED and route.names:
        wanted.add(403)
    schema = {"$ref": _REF.format(name="Failure")}
    return {
        str(status): {
            "description": _TEXTS[status],
            "content": {"application/json": {"schema": schema}},
        }
        for status in sorted(wanted | set(route.failures))
    }


def _build_operation_id(route: Route) -> str:
    words = [each.strip("{}") for each in route.path.split("/") if each not in ("", "api", "v1")]
    return "-".join([route.method.lower(), *words]).replace(".", "-")
