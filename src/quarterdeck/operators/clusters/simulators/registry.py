"""A simulated image registry: answers Docker's API v2 and lists a few repositories."""

from quarterdeck.kit import http, json

REPOSITORIES = ("platform/web", "platform/api", "tools/builder")
_HEADERS = [
    ("Content-Type", "application/json"),
    ("Docker-Distribution-Api-Version", "registry/2.0"),
]


async def handle_registry(request: http.Request) -> http.Response:
    """Answer as a registry without authentication does."""
    match request.path:
        case "/v2/" | "/v2":
            return http.Response(200, _HEADERS, b"{}")
        case "/v2/_catalog":
            return http.Response(200, _HEADERS, json.encode({"repositories": REPOSITORIES}))
        case _:
            return http.Response(404, _HEADERS, b'{"errors":[{"code":"NOT_FOUND"}]}')
