"""The registry driver against Debian's docker-registry."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

from quarterdeck.app import certificates
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.clusters.drivers.registry import DockerRegistry
from quarterdeck.operators.clusters.ports import RegistryAddress, RegistryCheck
from quarterdeck.testing import programs

_HEAD = """
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: %s}}
http:
  addr: 127.0.0.1:%d
"""
CATALOG = RegistryCheck(catalog_limit=100)


@contextlib.asynccontextmanager
async def registry(folder: Path, extra: str = "") -> AsyncIterator[int]:
    program = programs.require("docker-registry")
    port = programs.find_free_port()
    config = folder / "registry.yml"
    (folder / "images").mkdir()
    config.write_text(_HEAD % (folder / "images", port) + extra)
    async with programs.run_program_async(
        [program, "serve", str(config)], port=port, folder=folder
    ):
        yield port


async def htpasswd(folder: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *(programs.require("htpasswd"), "-Bbn", "hub", "secret"), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    (folder / "htpasswd").write_bytes(output)
    return f"auth: {{htpasswd: {{realm: test, path: {folder / 'htpasswd'}}}}}\n"


async def push(url: str, names: list[str]) -> None:
    """The least that makes a repository: one blob and one manifest."""
    async with http.Client() as client:
        for name in names:
            await _push(client, url, name)


async def _push(client: http.Client, url: str, name: str) -> None:
    blob = b"{}"
    digest = f"sha256:{hashlib.sha256(blob).hexdigest()}"
    begun = await client.request("POST", f"{url}/v2/{name}/blobs/uploads/")
    await begun.read()
    target = begun.headers.get("Location")
    done = await client.request(
        "PUT",
        f"{target}&digest={digest}",
        headers=[("Content-Type", "application/octet-stream")],
        body=blob,
    )
    await done.read()
    assert done.status == 201
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    part = {"size": len(blob), "digest": digest}
    manifest = {
        "schemaVersion": 2,
        "mediaType": kind,
        "config": {"mediaType": "application/vnd.docker.container.image.v1+json", **part},
        "layers": [],
    }
    put = await client.request(
        "PUT",
        f"{url}/v2/{name}/manifests/latest",
        headers=[("Content-Type", kind)],
        body=json.encode(manifest),
    )
    await put.read()
    assert put.status == 201


async def test_an_open_registry_is_healthy_and_lists_its_repositories(tmp_path: Path) -> None:
    async with registry(tmp_path) as port:
        url = f"http://127.0.0.1:{port}"
        await push(url, ["web", "api", "team/worker"])
        found = await DockerRegistry().check(RegistryAddress(url=url), CATALOG)
        assert found.facts.available and found.authenticated
        assert found.facts.version == "registry/2.0"
        assert found.facts.repositories == ("api", "team/worker", "web")
        assert found.facts.features["catalog_accessible"]
        assert found.facts.features["docker_v2_api"]
        few = await DockerRegistry().check(RegistryAddress(url=url), RegistryCheck(catalog_limit=2))
        assert few.facts.repository_count == 2


async def test_a_registry_with_passwords_is_read_with_credentials(tmp_path: Path) -> None:
    async with registry(tmp_path, await htpasswd(tmp_path)) as port:
        url = f"http://127.0.0.1:{port}"
        nobody = await DockerRegistry().check(RegistryAddress(url=url), CATALOG)
        assert nobody.facts.available and nobody.authenticated
        assert nobody.facts.features["requires_auth"]
        right = RegistryAddress(url=url, username="hub", password=Secret("secret"))
        found = await DockerRegistry().check(right, CATALOG)
        assert found.facts.available and found.authenticated
        assert found.facts.features["catalog_accessible"]
        wrong = RegistryAddress(url=url, username="hub", password=Secret("guess"))
        refused = await DockerRegistry().check(wrong, CATALOG)
        assert refused.facts.available and not refused.authenticated


async def test_a_registry_with_tls_is_verified(tmp_path: Path) -> None:
    pki = certificates.ensure(tmp_path / "pki", SystemClock().now())
    extra = f"  tls: {{certificate: {pki.certificate('server')}, key: {pki.key('server')}}}\n"
    async with registry(tmp_path, extra) as port:
        url = f"https://127.0.0.1:{port}"
        untrusted = await DockerRegistry().check(RegistryAddress(url=url), CATALOG)
        assert not untrusted.facts.available
        assert "certificate" in str(untrusted.facts.error)
        skipped = await DockerRegistry().check(
            RegistryAddress(url=url, skip_tls_verify=True), CATALOG
        )
        assert skipped.facts.available
        authority = pki.certificate("authority").read_bytes()
        trusted = await DockerRegistry().check(
            RegistryAddress(url=url, certificate_authority=authority), CATALOG
        )
        assert trusted.facts.available
