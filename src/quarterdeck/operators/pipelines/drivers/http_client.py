"""The HTTP client for the address of a fleet server."""

import base64
import binascii
import os
import ssl
from collections.abc import Mapping

from quarterdeck.kit import http
from quarterdeck.operators.pipelines.address import Address, InvalidAddress, find_proxy


def create_http_client(
    address: Address, environment: Mapping[str, str] = os.environ
) -> http.Client:
    """A pooled client for an address; trusts the connection's certificates, else the system's.

    HTTPS_PROXY and NO_PROXY are respected.

    Raises:
        InvalidAddress: if the certificates cannot be read.
    """
    if not address.url.startswith("https://"):
        return http.Client(read_timeout_s=address.timeout_s)
    context = ssl.create_default_context()
    if address.ca_bundle:
        try:
            pem = base64.b64decode(address.ca_bundle, validate=True).decode("ascii")
            context = ssl.create_default_context(cadata=pem)
        except (binascii.Error, ssl.SSLError, ValueError) as error:
            raise InvalidAddress("spec.caBundle: must be base64-encoded PEM") from error
    proxy = find_proxy(address.url, environment)
    return http.Client(tls=context, proxy=proxy, read_timeout_s=address.timeout_s)
