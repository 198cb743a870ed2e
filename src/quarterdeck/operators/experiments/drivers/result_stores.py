"""Stores of results: a ConfigMap next to the experiment, a directory, or object storage."""

import asyncio
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.kit.redaction import Masker, Secret, redact
from quarterdeck.meta.objects import ObjectMeta, build_owner_reference
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.results.document import SUMMARY
from quarterdeck.operators.experiments.results.ports import ResultStore, StoreUnavailable
from quarterdeck.wire.status import ApiError

CONFIGMAP = "configmap"
FILE = "file"
OBJECT_STORAGE = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")
MAX_CONFIGMAP = 1_000_000
"""Bytes that fit into a ConfigMap, with room for its metadata below Kubernetes' 1 MiB."""
EXTRA = "obstore"
_PROVIDER_VARIABLES = ("AWS_", "AZURE_", "GOOGLE_")
_CREDENTIALS = frozenset({"key", "password", "sas", "secret", "token"})
_PLACES = frozenset({"endpoint", "file", "path", "uri", "url"})
_CLIENT: Mapping[str, object] = {"timeout": "20s", "connect_timeout": "5s"}
_RETRY: Mapping[str, object] = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}


class UnknownStore(ValueError):
    """Raised when a results URL cannot be opened: its scheme is unknown, or it is malformed."""


def open_store(
    url: str, client: Client, *, options: Mapping[str, object] | None = None
) -> ResultStore:
    """Open the store of a URL: `configmap`, `file:///path`, `s3://bucket/prefix` and the like.

    Raises:
        UnknownStore: naming the known schemes, or the extra that is not installed.
    """
    scheme = urlsplit(url).scheme or url
    if scheme in ("", CONFIGMAP):
        return ConfigMaps(client)
    if scheme == FILE:
        return Files(Path(unquote(urlsplit(url).path)))
    if scheme in OBJECT_STORAGE:
        return ObjectStorage(url, options or {})
    known = ", ".join((CONFIGMAP, FILE, *OBJECT_STORAGE))
    raise UnknownStore(f"cannot keep results at {redact(url)!r}; the scheme must be one of {known}")


class ConfigMaps:
    """One ConfigMap per experiment, deleted with the experiment."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def write(self, experiment: Experiment, files: Mapping[str, bytes]) -> str:
        """Apply the ConfigMap; files that do not fit are left out, but never the summary."""
        namespace, name = experiment.metadata.namespace, build_configmap_name(experiment)
        found = ConfigMap(
            metadata=ObjectMeta(
                name=name,
                namespace=namespace,
                labels={naming.LABEL_EXPERIMENT: experiment.metadata.name},
                owner_references=(build_owner_reference(experiment, controller=False),),
            ),
            data=fit(files),
        )
        try:
            await self._client.apply(found, manager=naming.OPERATOR, force=True)
        except (ApiError, ClientError, OSError) as error:
            raise StoreUnavailable(f"cannot write ConfigMap {namespace}/{name}: {error}") from error
        return f"{CONFIGMAP}://{namespace}/{name}"

    async def read(self, url: str, name: str) -> bytes:
        """One key of the ConfigMap."""
        parts = urlsplit(url)
        where = f"{parts.netloc}/{parts.path.strip('/')}"
        try:
            found = await self._client.get(ConfigMap, parts.path.strip("/"), parts.netloc)
        except (ApiError, ClientError, OSError) as error:
            raise StoreUnavailable(f"cannot read ConfigMap {where}: {error}") from error
        if name not in found.data:
            raise StoreUnavailable(f"ConfigMap {where} has no {name}")
        return found.data[name].encode()


def build_configmap_name(experiment: Experiment) -> str:
    """The name of an experiment's ConfigMap."""
    return f"{experiment.metadata.name}-results"


def fit(files: Mapping[str, bytes]) -> dict[str, str]:
    """Choose the files that fit into a ConfigMap, the summary first.

    Raises:
        StoreUnavailable: if not even the summary fits.
    """
    found: dict[str, str] = {}
    size = 0
    for name in sorted(files, key=lambda name: (name != SUMMARY, name)):
        size += len(files[name])
        if size > MAX_CONFIGMAP:
            if name == SUMMARY:
                raise StoreUnavailable(
                    f"{SUMMARY} has {size} bytes and does not fit into a ConfigMap; keep results "
                    "in object storage or a directory with --results-url"
                )
            break
        found[name] = files[name].decode()
    return found


class Files:
    """One directory per experiment."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def write(self, experiment: Experiment, files: Mapping[str, bytes]) -> str:
        """Write the files, each atomically."""
        folder = self._root / naming.build_base_name(experiment)
        try:
            await asyncio.to_thread(_write_files, folder, files)
        except OSError as error:
            raise StoreUnavailable(f"cannot write results to {folder}: {error}") from error
        return f"{folder.absolute().as_uri()}/"

    async def read(self, url: str, name: str) -> bytes:
        """One file."""
        path = Path(unquote(urlsplit(url).path)) / name
        try:
            return await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise StoreUnavailable(f"cannot read {path}: {error}") from error


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        draft = folder / f".{name}.tmp"
        draft.write_bytes(data)
        draft.replace(folder / name)


class ObjectStorage:
    """S3, Google Cloud Storage or Azure, through the extra `obstore`.

    Credentials come from each provider's own environment variables and instance roles.
    """

    def __init__(self, url: str, options: Mapping[str, object]) -> None:
        """Raises `UnknownStore` if the extra is not installed or the address is malformed."""
        self._url = url.rstrip("/")
        self._options = dict(options)
        self._masker = _build_masker(options, os.environ)
        self._obstore = _import_obstore()
        self._store = self._open(self._url)

    async def write(self, experiment: Experiment, files: Mapping[str, bytes]) -> str:
        """Put one object per file under the experiment's name."""
        folder = naming.build_base_name(experiment)
        for name, data in files.items():
            key = f"{folder}/{name}"
            try:
                await self._obstore.put_async(self._store, key, data)
            except Exception as error:  # obstore's errors share only this base
                message = f"cannot write {self._url}/{key}: {self._masker.mask(str(error))}"
                raise StoreUnavailable(message) from error
        return f"{self._url}/{folder}/"

    async def read(self, url: str, name: str) -> bytes:
        """Get one object."""
        try:
            answer = await self._obstore.get_async(self._open(url.rstrip("/")), name)
            return bytes(await answer.bytes_async())
        except Exception as error:
            shown = self._masker.mask(str(error))
            raise StoreUnavailable(f"cannot read {url}{name}: {shown}") from error

    def _open(self, url: str) -> Any:
        """Open a store with short timeouts, because the operator itself tries again later."""
        from obstore.store import from_url

        given = self._options.get("client_options")
        client = {**_CLIENT, **(given if isinstance(given, dict) else {})}
        try:
            return from_url(
                url, **{**self._options, "client_options": client, "retry_config": _RETRY}
            )
        except Exception as error:
            shown = self._masker.mask(str(error))
            raise UnknownStore(f"cannot open {redact(url)}: {shown}") from error


def _build_masker(options: Mapping[str, object], environment: Mapping[str, str]) -> Masker:
    """Build a masker of the credentials in options and environment: errors may repeat them."""
    given = {name: value for name, value in options.items() if isinstance(value, str)}
    given |= {
        name: value for name, value in environment.items() if name.startswith(_PROVIDER_VARIABLES)
    }
    return Masker(*(Secret(value) for name, value in given.items() if _is_credential(name)))


def _is_credential(name: str) -> bool:
    """Whether a setting of a provider holds a credential, and not the location of one."""
    words = name.lower().split("_")
    return not _PLACES.intersection(words) and bool(_CREDENTIALS.intersection(words))


def _import_obstore() -> Any:
    try:
        import obstore
    except ImportError as error:
        raise UnknownStore(
            f"object storage needs the extra {EXTRA}: pip install 'quarterdeck[{EXTRA}]'"
        ) from error
    return obstore
