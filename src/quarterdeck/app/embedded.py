"""The API server inside this process: store, certificates, listeners, kubeconfig.

`quarterdeck server` and `quarterdeck up` share it. Ports are checked before anything is created,
and the caller's exit stack stops everything that was started.
"""

import base64
import contextlib
import random
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from quarterdeck.app import certificates
from quarterdeck.app.cluster import DATABASE
from quarterdeck.app.errors import StartError, explain_os_error
from quarterdeck.app.identities import Identities
from quarterdeck.app.kubeconfig import write_certificate
from quarterdeck.app.ports import DRAIN_S, HOST, listen
from quarterdeck.app.serving_certificate import ServingCertificate, ServingFiles
from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http.local_user import OwnerGuard
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.server.api import ApiServer
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import Store
from quarterdeck.storage.errors import OpenFailed
from quarterdeck.storage.lockfile import find_holder

_OTHER_PLACE = "choose another folder with --data-dir, or use --in-memory"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of an embedded API server."""

    data_dir: Path | None
    """Folder of all data; None stores nothing."""
    port: int
    """HTTPS; 0 takes any free port."""
    kubeconfig: Path | None = None
    """Where the kubeconfig goes; by default beside the data."""
    kubeconfig_flag: str = "--kubeconfig"
    """The flag that changes it, for messages."""
    options: ServerOptions = ServerOptions()
    identities: Identities = Identities()
    serving_files: ServingFiles | None = None
    """The serving certificate; without it one is created and renewed."""
    host: str = HOST
    """The address to listen on."""
    pki: Path | None = None
    """Folder of created certificates; by default beside the data."""
    encryption_config: Path | None = None
    """Keys that encrypt objects on the disk; without it they are stored plain."""
    is_durable: bool = True
    """Whether acknowledged writes survive a crash of the machine; off for tests."""
    accept_loss: bool = False
    """Whether to start although acknowledged writes are lost or damaged."""


class Embedded:
    """A running API server."""

    def __init__(
        self,
        api: ApiServer,
        server: http.Server,
        folder: Path,
        *,
        authority: certificates.Certificates,
        certificate: ServingCertificate,
        tasks: Supervisor,
    ) -> None:
        self.api = api
        self.server = server
        self.tasks = tasks
        """The background work of the server; a failure of it is for the process to notice."""
        self.folder = folder
        """Where certificates and, by default, the kubeconfig are."""
        self.authority = authority
        self.certificate = certificate
        self.url = ""
        self.kubeconfig = Path()


async def start(
    plan: Plan,
    stack: contextlib.AsyncExitStack,
    *,
    clock: Clock,
) -> Embedded:
    """Open the store, start the server, listen on HTTPS and write the kubeconfig.

    Raises:
        StartError: if the data, a file, the port or the kubeconfig cannot be used.
    """
    client_authorities = plan.identities.list_authorities()
    store = _open(plan)
    stack.push_async_callback(store.close)
    folder = _choose_folder(plan, stack)
    authority, pem = _ensure_certificates(plan.pki or folder / "pki", clock)
    certificate = _load_certificate(plan, authority, client_authorities, clock=clock)
    check_signing_key(plan.options.signing_key or authority.signing_key)
    tasks = await stack.enter_async_context(Supervisor("server"))
    api = _build_server(
        store,
        msgspec.structs.replace(
            plan.options,
            certificate_authority=pem,
            signing_key=plan.options.signing_key or authority.signing_key,
            cluster_signing=(authority.certificate("authority"), authority.key("authority")),
        ),
        clock=clock,
        rng=random.Random(),
        authenticators=plan.identities.build_authenticators(authority.certificate("authority")),
    )
    await api.start()
    tasks.spawn(api.run(), name="api-server")
    tasks.spawn(certificate.run(), name="serving-certificate")
    server = http.Server(OwnerGuard(api.handle).handle, clock=clock)
    stack.push_async_callback(_shut_down, api, server)
    embedded = Embedded(
        api, server, folder, authority=authority, certificate=certificate, tasks=tasks
    )
    listener = await listen(server, plan.port, "--port", tls=certificate.context, host=plan.host)
    embedded.url = f"https://{_choose_client_address(plan.host)}:{listener.port}"
    await api.publish_address(_choose_client_address(plan.host).strip("[]"), listener.port)
    embedded.kubeconfig = plan.kubeconfig or folder / "kubeconfig"
    _write_kubeconfig(embedded, authority, flag=plan.kubeconfig_flag)
    return embedded


def check_unused(data_dir: Path) -> None:
    """Check that no other process uses the data, before anything is created.

    Raises:
        StartError: naming that process.
    """
    if holder := find_holder(data_dir / DATABASE):
        raise StartError(
            f"the data folder {data_dir} is in use by {holder}: stop that process, "
            "or choose another folder with --data-dir"
        )


def _build_server(*arguments: Any, **options: Any) -> ApiServer:
    """Create the server; errors about its files become a `StartError`."""
    try:
        return ApiServer(*arguments, **options)
    except (ValueError, OSError) as error:
        raise StartError(str(error)) from error


def _choose_client_address(host: str) -> str:
    """The address for clients on this machine."""
    if host in ("0.0.0.0", "::", ""):
        return HOST
    return f"[{host}]" if ":" in host else host


async def _shut_down(api: ApiServer, server: http.Server) -> None:
    api.stop()
    await server.drain(DRAIN_S)


def _open(plan: Plan) -> Store:
    if plan.data_dir is None:
        from quarterdeck.storage.memory import open_memory

        return open_memory(derive=decode_object_meta)
    from quarterdeck.storage.sqlite import open_sqlite

    cipher = None
    if plan.encryption_config is not None:
        from quarterdeck.app.encryption import read_cipher

        cipher = read_cipher(plan.encryption_config)
    try:
        plan.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_sqlite(
            plan.data_dir / DATABASE,
            derive=decode_object_meta,
            durability="full" if plan.is_durable else "normal",
            cipher=cipher,
            accept_loss=plan.accept_loss,
        )
    except OpenFailed as error:
        fix = f"; {_OTHER_PLACE}" if type(error) is OpenFailed else ""  # the others name their own
        raise StartError(f"{error}{fix}") from error
    except OSError as error:
        raise _build_data_error(plan.data_dir, error) from error


def _build_data_error(folder: Path, error: OSError) -> StartError:
    if isinstance(error, FileExistsError):
        reason = f"it is not a folder; {_OTHER_PLACE}"
    else:
        reason = explain_os_error(error, fix=_OTHER_PLACE)
    return StartError(f"cannot use the data folder {folder}: {reason}")


def _choose_folder(plan: Plan, stack: contextlib.AsyncExitStack) -> Path:
    """Choose the folder of certificates: that of the data, or a private one removed at the end."""
    if plan.data_dir is not None:
        return plan.data_dir
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quarterdeck-")))


def _ensure_certificates(folder: Path, clock: Clock) -> tuple[certificates.Certificates, str]:
    """The certificates, and that of the authority as text."""
    try:
        found = certificates.ensure(folder, clock.now())
        return found, found.certificate("authority").read_text(encoding="ascii")
    except OSError as error:
        raise _build_data_error(folder, error) from error
    except UnicodeDecodeError as error:
        raise _build_certificate_error(folder, error) from error


def _load_certificate(
    plan: Plan,
    authority: certificates.Certificates,
    client_authorities: Sequence[Path],
    *,
    clock: Clock,
) -> ServingCertificate:
    try:
        return ServingCertificate(
            authority, plan.serving_files, authorities=client_authorities, clock=clock
        )
    except (ssl.SSLError, OSError) as error:
        if plan.serving_files is None and not client_authorities:
            raise _build_certificate_error(authority.folder, error) from error
        files = [*(plan.serving_files or ()), *client_authorities]
        names = ", ".join(str(path) for path in files)
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise StartError(
            f"cannot load {names}: {reason}; expected certificates and a private key in PEM"
        ) from error


def check_signing_key(path: Path) -> None:
    """Check that a file holds a private key, without loading a cryptography library.

    Raises:
        StartError: if it does not; every request with a token would fail later.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise StartError(
            f"cannot read the key of service account tokens {path}: {error.strerror or error}"
        ) from error
    if b"-----BEGIN " not in text or b"PRIVATE KEY-----" not in text or b"-----END " not in text:
        found = "it is empty" if not text.strip() else "it holds no private key in PEM"
        raise StartError(
            f"cannot use the key of service account tokens {path}: {found}; restore it, or move it "
            "away to make a new one, which makes tokens issued before invalid"
        )


def _build_certificate_error(folder: Path, error: Exception) -> StartError:
    reason = getattr(error, "reason", None) or str(error)
    return StartError(
        f"cannot load the certificates in {folder}: {reason}; restore them, or move the folder "
        "away to create new ones"
    )


def _write_kubeconfig(server: Embedded, authority: certificates.Certificates, *, flag: str) -> None:
    path = server.kubeconfig
    try:
        write_certificate(
            path,
            server.url,
            authority=base64.b64encode(server.certificate.trusted).decode(),
            certificate=authority.encoded(authority.certificate("administrator")),
            key=authority.encoded(authority.key("administrator")),
        )
    except OSError as error:
        reason = explain_os_error(error, fix=f"choose another path with {flag}")
        raise StartError(f"cannot write the kubeconfig {path}: {reason}") from error
