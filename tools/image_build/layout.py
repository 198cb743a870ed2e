"""An OCI image layout: layers, configurations and manifests by digest, no engine needed."""

import datetime
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_CONFIG = "application/vnd.oci.image.config.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Layer(NamedTuple):
    """A written layer: the digest of its blob, and of its content before compression."""

    descriptor: Mapping[str, Any]
    diff_id: str


class Layout:
    """A folder that `skopeo`, `ctr` and `podman` read as an image."""

    def __init__(self, folder: Path, *, epoch: int, architecture: str = "amd64") -> None:
        self._folder = folder
        self._epoch = epoch
        self._architecture = architecture
        self._manifests: list[Mapping[str, Any]] = []
        (folder / "blobs/sha256").mkdir(parents=True)

    def add_layer(self, root: Path, owners: Mapping[str, int] | None = None) -> Layer:
        """Write a folder as a layer: sorted, at one time, owned by root but for `owners`."""
        raw = b"".join(build_archive(root, epoch=self._epoch, owners=owners or {}))
        blob = gzip.compress(raw, compresslevel=6, mtime=0)
        return Layer(self._write(blob, _LAYER), f"sha256:{hashlib.sha256(raw).hexdigest()}")

    def add_image(
        self,
        tag: str,
        layers: Sequence[Layer],
        settings: Mapping[str, Any],
        labels: Mapping[str, str],
    ) -> None:
        """Write configuration and manifest of an image, and name it in the index."""
        config = {
            "created": format_time(self._epoch),
            "architecture": self._architecture,
            "os": "linux",
            "config": {**settings, "Labels": dict(labels)},
            "rootfs": {"type": "layers", "diff_ids": [each.diff_id for each in layers]},
            "history": [{"created": format_time(self._epoch)} for _ in layers],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": self._write(encode(config), _CONFIG),
            "layers": [each.descriptor for each in layers],
            "annotations": dict(labels),
        }
        self._manifests.append(
            {
                **self._write(encode(manifest), _MANIFEST),
                "annotations": {"org.opencontainers.image.ref.name": tag},
                "platform": {"architecture": self._architecture, "os": "linux"},
            }
        )

    def finish(self) -> None:
        """Write the index, which makes the folder an image."""
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": self._manifests}
        (self._folder / "index.json").write_bytes(encode(index))
        (self._folder / "oci-layout").write_bytes(encode({"imageLayoutVersion": "1.0.0"}))

    def _write(self, content: bytes, media_type: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (self._folder / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def build_archive(root: Path, *, epoch: int, owners: Mapping[str, int]) -> Iterator[bytes]:
    """A tar file of a folder that depends on nothing but names, modes and contents."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root).as_posix()
            entry = archive.gettarinfo(path, arcname=name)
            if entry.islnk():  # hard links depend on the order in which files are met
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
            entry.uid = entry.gid = owners.get(name, 0)
            entry.uname = entry.gname = ""
            entry.mtime = epoch
            if not entry.issym():
                entry.mode = normalize_mode(entry.mode)
            if entry.isreg():
                with path.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    yield buffer.getvalue()


def normalize_mode(mode: int) -> int:
    """Readable by all, written by the owner; no set-user-ID, whatever the builder's umask was."""
    if mode & 0o1000:
        return 0o1777
    return 0o755 if mode & 0o100 else 0o644


def extract(layout: Path, tag: str, root: Path) -> dict[str, Any]:
    """Unpack an image of a layout, checking every digest; returns its configuration."""
    index = json.loads((layout / "index.json").read_bytes())
    key = "org.opencontainers.image.ref.name"
    found = [each for each in index["manifests"] if each["annotations"][key] == tag]
    if not found:
        tags = ", ".join(each["annotations"][key] for each in index["manifests"])
        raise LookupError(f"{layout} has no image {tag!r}; it has {tags}")
    manifest = json.loads(read_blob(layout, found[0]))
    for layer in manifest["layers"]:
        content = gzip.decompress(read_blob(layout, layer))
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            # the argument `filter` is new in 3.11.4, and Debian has 3.11.2
            archive.extraction_filter = lambda member, _: member
            archive.extractall(root)
    config: dict[str, Any] = json.loads(read_blob(layout, manifest["config"]))
    return config


def read_blob(layout: Path, descriptor: Mapping[str, Any]) -> bytes:
    """The content of a descriptor.

    Raises:
        ValueError: if the digest or the size is not the content's.
    """
    algorithm, _, digest = descriptor["digest"].partition(":")
    content: bytes = (layout / "blobs" / algorithm / digest).read_bytes()
    if hashlib.sha256(content).hexdigest() != digest or len(content) != descriptor["size"]:
        raise ValueError(
            f"blob {digest} in {layout} does not match its digest; build the image again"
        )
    return content


def encode(document: Mapping[str, Any]) -> bytes:
    """JSON without anything that could differ."""
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def format_time(epoch: int) -> str:
    """Seconds since 1970 as RFC 3339."""
    return f"{datetime.datetime.fromtimestamp(epoch, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"
