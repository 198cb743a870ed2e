"""Secrets on the disk: sealed, bound to their place, rotated, and readable with the key only."""

import base64
import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from quarterdeck.app import embedded
from quarterdeck.app.cluster import DATABASE
from quarterdeck.app.embedded import Plan
from quarterdeck.app.encryption import parse_configuration
from quarterdeck.app.errors import StartError
from quarterdeck.kit.clock import SystemClock
from quarterdeck.storage import StoreKey
from quarterdeck.storage.errors import OpenFailed

KEY = StoreKey("secrets", "default", "s")
PLAIN = b'{"metadata":{"name":"s","namespace":"default"},"data":{"k":"aHVudGVyMg=="}}'


def write_keys(folder: Path, *names: str, identity_first: bool = False) -> Path:
    """A configuration with keys in this order, each 32 bytes made of its name."""
    keys = [
        {"name": name, "secret": base64.b64encode(name.encode().ljust(32, b"."))[:44].decode()}
        for name in names
    ]
    providers: list[object] = [{"aesgcm": {"keys": keys}}, {"identity": {}}]
    if identity_first:
        providers.reverse()
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": providers}],
    }
    path = folder / "keys.yaml"
    path.write_text(json.dumps(document))
    return path


async def run(folder: Path, keys: Path | None, *, write: bool = False) -> bytes | None:
    """Start a server on the data and read the secret, or write it first."""
    async with contextlib.AsyncExitStack() as stack:
        plan = Plan(data_dir=folder, port=0, encryption_config=keys)
        server = await embedded.start(plan, stack, clock=SystemClock())
        store = server.api.core.store
        if write:
            await store.put(KEY, lambda _: PLAIN)
        entry = store.get(KEY)
        return None if entry is None else entry.value


def read_disk(folder: Path) -> list[bytes]:
    with contextlib.closing(sqlite3.connect(folder / DATABASE)) as connection:
        rows = connection.execute("SELECT value FROM log WHERE resource = 'secrets'").fetchall()
    return [value for (value,) in rows]


def find_in_files(folder: Path, text: bytes) -> list[str]:
    files = [each for each in folder.iterdir() if each.name.startswith(DATABASE)]
    return [each.name for each in files if text in each.read_bytes()]


async def test_secrets_are_sealed_on_the_disk_and_plain_in_the_api(tmp_path: Path) -> None:
    data, keys = tmp_path / "data", write_keys(tmp_path, "one")
    assert await run(data, keys, write=True) == PLAIN
    assert all(value.startswith(b"k8s:enc:aesgcm:v1:one:") for value in read_disk(data))
    assert find_in_files(data, b"aHVudGVyMg") == []
    assert await run(data, keys) == PLAIN


async def test_plain_data_is_sealed_at_the_next_start_and_keys_rotate(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert await run(data, None, write=True) == PLAIN
    assert read_disk(data) == [PLAIN]
    assert await run(data, write_keys(tmp_path, "one")) == PLAIN
    assert read_disk(data)[0].startswith(b"k8s:enc:aesgcm:v1:one:")
    assert find_in_files(data, b"aHVudGVyMg") == []
    assert await run(data, write_keys(tmp_path, "two", "one")) == PLAIN
    assert read_disk(data)[0].startswith(b"k8s:enc:aesgcm:v1:two:")
    assert await run(data, write_keys(tmp_path, "two")) == PLAIN  # the old key is not needed
    assert await run(data, write_keys(tmp_path, "two", identity_first=True)) == PLAIN
    assert read_disk(data) == [PLAIN]


async def test_without_the_key_nothing_starts_and_nothing_is_lost(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await run(data, write_keys(tmp_path, "one"), write=True)
    before = read_disk(data)
    for keys in (None, write_keys(tmp_path, "other")):
        with pytest.raises(StartError, match=r"'one'.*--encryption-provider-config"):
            await run(data, keys)
        assert read_disk(data) == before
    assert await run(data, write_keys(tmp_path, "one")) == PLAIN


def test_sealed_value_cannot_be_moved_or_changed(tmp_path: Path) -> None:
    cipher = parse_configuration(json.loads(write_keys(tmp_path, "one").read_text()))
    sealed = cipher.encrypt(KEY, PLAIN)
    assert cipher.decrypt(KEY, sealed) == PLAIN
    assert cipher.encrypt(KEY, PLAIN) != sealed
    with pytest.raises(OpenFailed, match="secrets/default/other"):
        cipher.decrypt(StoreKey("secrets", "default", "other"), sealed)
    with pytest.raises(OpenFailed, match="was changed"):
        cipher.decrypt(KEY, sealed[:-1] + bytes([sealed[-1] ^ 1]))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "EncryptionConfiguration"),
        ({"resources": []}, "at least one"),
        ({"resources": [{"resources": ["secrets"], "providers": []}]}, "providers"),
        ({"resources": [{"resources": ["*.*"], "providers": [{"identity": {}}]}]}, "name"),
        (
            {"resources": [{"resources": ["secrets"], "providers": [{"kms": {}}]}]},
            "aesgcm with keys, or identity",
        ),
        (
            {
                "resources": [
                    {
                        "resources": ["secrets"],
                        "providers": [{"aesgcm": {"keys": [{"name": "k", "secret": "c2hvcnQ="}]}}],
                    }
                ]
            },
            "5 bytes",
        ),
    ],
    ids=["kind", "empty", "no provider", "wildcard", "other provider", "short key"],
)
def test_bad_configurations_say_what_is_wrong(document: dict[str, object], words: str) -> None:
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    with pytest.raises(ValueError, match=words):
        parse_configuration({**head, **document} if document else {})
