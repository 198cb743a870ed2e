"""The admission webhooks of this process: where they listen and how an API server finds them.

In `up` they show the certificate of the embedded API server. In a cluster they stand behind a
Service. A process outside a cluster serves none: the API server could not reach it, and a webhook
that cannot be reached would stop every write.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from quarterdeck.app.parts import Part
from quarterdeck.app.ports import HOST
from quarterdeck.app.settings import Settings
from quarterdeck.meta.identity import Key
from quarterdeck.runtime import (
    BindAddress,
    CertificateFiles,
    Registration,
    ServiceReference,
    Webhooks,
)

PORT_SETTING = "webhook_port"
REGISTRATION = "webhooks.quarterdeck.dev"
"""Name of the configurations, and suffix of the names of webhooks."""
SERVICE = "quarterdeck-webhooks"
SECRET = "quarterdeck-webhooks-certificate"
"""The Secret by which replicas share the certificate that they create."""
TIMEOUT_S = 5
_DEFAULT_NAMESPACE = "quarterdeck-system"


def has_webhooks(parts: Sequence[Part]) -> bool:
    """Whether one of the operators has webhooks."""
    return any(PORT_SETTING in part.ports for part in parts)


def build_embedded(
    settings: Settings, parts: Sequence[Part], *, serving: CertificateFiles, authority: Path
) -> Webhooks | None:
    """The webhooks of `up`, called over loopback."""
    if not has_webhooks(parts):
        return None
    return Webhooks(
        BindAddress(HOST, settings.webhook_port),
        certificate=serving,
        registration=Registration(REGISTRATION, ca_file=authority, timeout_s=TIMEOUT_S),
    )


def build_in_cluster(settings: Settings, parts: Sequence[Part]) -> Webhooks | None:
    """The webhooks of `run` inside a cluster, with a certificate that replicas create and share.

    With `webhook_cert_path` the certificate comes from elsewhere, such as cert-manager. `ca.crt`
    beside it is the CA for the API server, and is read again when it changes.
    """
    if not has_webhooks(parts):
        return None
    namespace = os.environ.get("POD_NAMESPACE") or _DEFAULT_NAMESPACE
    folder = settings.webhook_cert_path
    return Webhooks(
        BindAddress("0.0.0.0", settings.webhook_port),
        certificate=None if folder is None else CertificateFiles.within(folder),
        registration=Registration(
            REGISTRATION,
            service=ServiceReference(namespace, SERVICE),
            secret=Key(namespace, SECRET) if folder is None else None,
            timeout_s=TIMEOUT_S,
        ),
    )
