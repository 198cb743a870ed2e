"""Copies of requests with other headers or another path, on the same connection."""

from quarterdeck.kit.http import Headers, Request


def copy_request(
    request: Request, *, headers: Headers | None = None, path: str | None = None
) -> Request:
    """Copy a request with changes; the body can be read once, through either."""
    copy = Request()
    for name in Request.__slots__:
        setattr(copy, name, getattr(request, name))
    if headers is not None:
        copy.headers = headers
    if path is not None:
        copy.path = copy.target = path
        copy.query = ""
    return copy
