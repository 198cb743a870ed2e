"""Sends requests to webhooks over HTTPS.

One HTTP client is kept for each CA bundle and server name. Errors have the text of Kubernetes' own
client, because users search for it.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.webhooks.registration import ClientConfig, Service

_MAX_ANSWER_BYTES = 8 * 1024 * 1024
_HEADERS = (("Content-Type", "application/json"), ("Accept", "application/json, */*"))
_KEPT_CLIENTS = 64
_MAX_REDIRECTS = 4


class CallFailed(Exception):
    """Raised when a webhook cannot be reached, or answers with an HTTP failure."""


class WebhookCaller:
    """Calls webhooks by URL, or by Service if the address of the Service is configured.

    `services` maps `namespace/name` or `namespace/name:port` to an address, because this API server
    has no pod network.
    """

    def __init__(self, services: Mapping[str, str] | None = None) -> None:
        self.services = dict(services or {})
        self._clients: dict[tuple[bytes, str], http.Client] = {}
        self._busy: dict[http.Client, int] = {}
        self._retired: set[http.Client] = set()

    async def call(self, target: ClientConfig, review: object, *, timeout_s: float) -> bytes:
        """Send an AdmissionReview, and return the body of the response.

        Raises:
            CallFailed: in the words of Kubernetes' client.
        """
        shown, url, server_name = self._resolve(target)
        shown = f"{shown}?timeout={timeout_s:g}s"
        client = self._get_client(target.ca_bundle, server_name)
        self._busy[client] = self._busy.get(client, 0) + 1
        try:
            async with asyncio.timeout(timeout_s):
                encoded = kit_json.encode(review)
                response, body = await _post(client, f"{url}?timeout={timeout_s:g}s", encoded)
        except TimeoutError as error:
            raise CallFailed(f'Post "{shown}": context deadline exceeded') from error
        except http.TlsError as error:
            raise CallFailed(f'Post "{shown}": tls: {_describe_tls(error)}') from error
        except http.ConnectError as error:
            host = url.partition("://")[2].partition("/")[0]
            raise CallFailed(f'Post "{shown}": dial tcp {host}: {_describe(error)}') from error
        except http.HttpError as error:
            raise CallFailed(f'Post "{shown}": {error}') from error
        finally:
            self._busy[client] = self._busy.get(client, 1) - 1
            await self._close_retired()
        _check_status(response.status, response.headers.get("content-type") or "", body)
        return body

    async def aclose(self) -> None:
        """Close the connections."""
        clients, self._clients = {*self._clients.values(), *self._retired}, {}
        self._retired, self._busy = set(), {}
        for client in clients:
            with contextlib.suppress(http.HttpError):
                await client.aclose()

    async def _close_retired(self) -> None:
        """Close replaced clients once their last call has ended."""
        for client in [each for each in self._retired if not self._busy.get(each)]:
            self._retired.discard(client)
            self._busy.pop(client, None)
            with contextlib.suppress(http.HttpError):
                await client.aclose()

    def _resolve(self, target: ClientConfig) -> tuple[str, str, str]:
        """Return the URL for messages, the URL to call, and the name its certificate must have."""
        if target.service is None:
            return target.url, target.url, ""
        service = target.service
        name = f"{service.name}.{service.namespace}.svc"
        shown = f"https://{name}:{service.port}{service.path}"
        address = self._find_service(service)
        if address is None:
            raise CallFailed(
                f'Post "{shown}?timeout=10s": service {kit_json.encode(service.name).decode()}'
                " not found"
            )
        return shown, f"https://{address}{service.path}", name

    def _find_service(self, service: Service) -> str | None:
        name = f"{service.namespace}/{service.name}"
        return self.services.get(f"{name}:{service.port}") or self.services.get(name)

    def _get_client(self, ca_bundle: bytes, server_name: str) -> "http.Client":
        key = (ca_bundle, server_name)
        client = self._clients.get(key)
        if client is None:
            if len(self._clients) >= _KEPT_CLIENTS:
                self._retired.add(self._clients.pop(next(iter(self._clients))))
            client = http.Client(tls=_build_tls_context(ca_bundle), server_name=server_name or None)
            self._clients[key] = client
        return client


async def _post(
    client: "http.Client", url: str, body: bytes
) -> tuple["http.ClientResponse", bytes]:
    """Send a body by POST; redirects within the same server are followed.

    Go's servers redirect paths such as `//validate`, which envtest configures.
    """
    for _ in range(_MAX_REDIRECTS):
        response = await client.request("POST", url, headers=_HEADERS, body=body)
        answer = await response.read(_MAX_ANSWER_BYTES)
        location = response.headers.get("location") or ""
        if response.status not in (307, 308) or not location.startswith("/"):
            break
        if location.startswith("//"):
            break
        origin = "/".join(url.split("/", 3)[:3])
        url = f"{origin}{location}"
    return response, answer


def _build_tls_context(ca_bundle: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_bundle:
        try:
            context = ssl.create_default_context(cadata=ca_bundle.decode("ascii"))
            # as in Go, a bundle may hold the certificate of the webhook server itself
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise CallFailed(
                "unable to load root certificates: unable to parse bytes as PEM block"
            ) from error
    return context


def _describe_tls(error: Exception) -> str:
    text = str(error)
    if isinstance(error.__cause__, ssl.SSLCertVerificationError):
        if "Hostname mismatch" in text or "IP address mismatch" in text:
            return "failed to verify certificate: x509: certificate is not valid for this name"
        if "expired" in text:
            return "failed to verify certificate: x509: certificate has expired"
        return "failed to verify certificate: x509: certificate signed by unknown authority"
    return text


def _describe(error: Exception) -> str:
    cause = error.__cause__
    if isinstance(cause, ConnectionRefusedError):
        return "connect: connection refused"
    return str(error)


def _check_status(status: int, content_type: str, body: bytes) -> None:
    if status >= 500:
        text = body.decode(errors="replace")
        raise CallFailed(
            f"an error on the server ({kit_json.encode(text).decode()}) has prevented the request"
            " from succeeding"
        )
    if status == 404:
        raise CallFailed("the server could not find the requested resource")
    if status >= 400:
        raise CallFailed(f"the server rejected our request for an unknown reason (status {status})")
    if not body:
        raise CallFailed(
            f"0-length response with status code: {status} and content type: {content_type}"
        )
