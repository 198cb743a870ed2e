"""Agents that beat: what the bootstrap service spends on them.

`python -m bench.peers.heartbeats AGENTS SECONDS` prints its figures as one JSON object. The service
is a process of its own; the API server and the agents are here. Agents keep their connections, as
the real one does, and beat every 15 seconds, one after the other.
"""

import asyncio
import contextlib
import json
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bench import accounting
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.v1alpha1 import KINDS
from quarterdeck.app import definitions
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.drivers.authority import SecretAuthority
from quarterdeck.services.bootstrap.issuer import Issuer

NAMESPACE = "quarterdeck-system"
INTERVAL_S = 15.0
_CONNECTING = 20
"""Handshakes at a time, before anything is measured."""


async def main(agents: int, seconds: float) -> None:
    """Start everything, let all agents connect, then measure."""
    async with Cluster() as cluster, Client(ClusterConfig(server=cluster.url)) as client:
        await definitions.install(client.raw, KINDS)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await definitions.apply(client.raw, [namespace])
        with tempfile.TemporaryDirectory() as folder:
            async with _service(cluster.url, Path(folder)) as (pid, url):
                print(json.dumps(await _measure(client, url, pid, agents, seconds)), flush=True)


@contextlib.asynccontextmanager
async def _service(server: str, folder: Path) -> AsyncIterator[tuple[int, str]]:
    """The bootstrap service as a process: its id and its address."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": {"server": server}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": ""}}],
        "current-context": "bench",
    }
    (folder / "kubeconfig").write_text(json.dumps(config))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quarterdeck.cli", "bootstrap", "--port", "0"),
        *("--kubeconfig", str(folder / "kubeconfig")),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        yield process.pid, line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        await process.wait()


async def _measure(
    client: Client, url: str, pid: int, agents: int, seconds: float
) -> dict[str, float]:
    issuer = Issuer(SecretAuthority(client, NAMESPACE), clock=SystemClock())
    gate = asyncio.Semaphore(_CONNECTING)
    machines = [await _make_agent(client, issuer, number) for number in range(agents)]
    await asyncio.gather(*(_beat_once(each, url, gate) for each in machines))
    before, began = accounting.cpu_s(pid), time.monotonic()
    count = await _beat(machines, url, seconds)
    spent, lasted = accounting.cpu_s(pid) - before, time.monotonic() - began
    for machine in machines:
        await machine.aclose()
    return {"core_%": spent / lasted * 100, "beat_us": spent / count * 1e6, "beats": float(count)}


async def _make_agent(client: Client, issuer: Issuer, number: int) -> http.Client:
    """A claim, and a client with a certificate for it."""
    document = {
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "MachineClaim",
        "metadata": {"name": f"m-{number}", "namespace": "default"},
        "spec": {"templateRef": {"name": "none"}},
    }
    made = await client.resource(MachineClaim.KIND.gvr).create(document)
    claim = Claim(namespace="default", name=f"m-{number}", uid=made["metadata"]["uid"])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    csr = request.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    credentials, _ = await issuer.issue(claim, csr)
    context = ssl.create_default_context(cadata=credentials.trust_bundle)
    with tempfile.NamedTemporaryFile() as file:
        file.write((credentials.certificate + "".join(credentials.chain)).encode())
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.flush()
        context.load_cert_chain(file.name)
    return http.Client(tls=context, pool=1)


async def _beat_once(machine: http.Client, url: str, gate: asyncio.Semaphore) -> None:
    async with gate:
        answer = await machine.request("POST", f"{url}/v1/heartbeat", body=b'{"uptime":1}')
        async with answer:
            await answer.read(4096)
        if answer.status != 200:
            raise SystemExit(f"a heartbeat was answered with {answer.status}")


async def _beat(machines: list[http.Client], url: str, seconds: float) -> int:
    """All agents, spread evenly over their interval, for so long; how many beats."""
    gate, count = asyncio.Semaphore(len(machines)), 0
    pause_s, began = INTERVAL_S / len(machines), time.monotonic()
    async with asyncio.TaskGroup() as group:
        while time.monotonic() - began < seconds:
            group.create_task(_beat_once(machines[count % len(machines)], url, gate))
            count += 1
            await asyncio.sleep(max(0.0, began + count * pause_s - time.monotonic()))
    return count


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
