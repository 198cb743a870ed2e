"""The OpenAPI document: complete, and true to the answers."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tests.integration.services.hub.conftest import World

from quarterdeck.kit.http import Request, Response

Make = Callable[[], AbstractAsyncContextManager[World]]


async def test_every_route_is_described(world: Make) -> None:
    async with world() as w:
        document = (await w.ask("api:/openapi.json")).body
        assert document["openapi"] == "3.1.0"
        described = {
            (method.upper(), path)
            for path, methods in document["paths"].items()
            for method in methods
        }
        assert described == {(each.method, each.path) for each in w.hub.router.routes}
        operations = [each for path in document["paths"].values() for each in path.values()]
        names = [each["operationId"] for each in operations]
        assert len(names) == len(set(names))


async def test_page_about_the_api_is_shown_where_it_is_enabled(world: Make) -> None:
    async with world() as w:
        assert (await w.ask("api:/swagger/index.html")).status == 404
        w.hub.has_reference_page = True
        for path in ("swagger", "swagger/", "swagger/index.html"):
            answer = await w.hub.handle(Request.of("GET", f"/api/v1/{path}"))
            assert isinstance(answer, Response) and answer.status == 200
            names = [name.lower() for name, _ in answer.headers]
            assert len(names) == len(set(names))
            assert dict(answer.headers)["Content-Type"] == "text/html; charset=utf-8"
            text = answer.body.decode()
            assert "<script" not in text
            for route in w.hub.router.routes:
                assert f"{route.method} {route.path}" in text


async def test_every_reference_has_a_target(world: Make) -> None:
    async with world() as w:
        document = (await w.ask("api:/openapi.json")).body
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        found = set(_references(document))
        assert found
        assert found <= known


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return [*own, *(each for part in value.values() for each in _references(part))]
    if isinstance(value, list):
        return [each for part in value for each in _references(part)]
    return []
