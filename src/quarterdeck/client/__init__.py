"""Talks to any Kubernetes API server: typed, untyped, or bytes.

`Client` is the typed face; `client.raw` has the same verbs on bytes, which the runtime builds on;
`client.resource(...)` has them on dictionaries. The address of a server and the credentials come
from `config`: a kubeconfig, a pod's service account, or values.

Start at `client`, then `raw`.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.client.client import Client, Scale
    from quarterdeck.client.config.cluster import ClusterConfig
    from quarterdeck.client.config.locate import load_config
    from quarterdeck.client.errors import (
        ClientError,
        ConfigError,
        ConnectionFailed,
        CredentialError,
        InvalidResponse,
        RequestTimeout,
        UntrustedServer,
    )
    from quarterdeck.client.intercept import Intercept, InterceptingApi
    from quarterdeck.client.untyped import ResourceClient

__all__ = [
    "Client",
    "ClientError",
    "ClusterConfig",
    "ConfigError",
    "ConnectionFailed",
    "CredentialError",
    "Intercept",
    "InterceptingApi",
    "InvalidResponse",
    "RequestTimeout",
    "ResourceClient",
    "Scale",
    "UntrustedServer",
    "load_config",
]

_HOMES = {
    "client": ("Client", "Scale"),
    "config.cluster": ("ClusterConfig",),
    "config.locate": ("load_config",),
    "errors": (
        "InvalidResponse",
        "ClientError",
        "ConfigError",
        "ConnectionFailed",
        "CredentialError",
        "RequestTimeout",
        "UntrustedServer",
    ),
    "intercept": ("Intercept", "InterceptingApi"),
    "untyped": ("ResourceClient",),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
