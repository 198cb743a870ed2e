"""An ingester whose certificate comes later than itself."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from ingester_hub import running_hub

from quarterdeck.app.ingester import IngesterAddress, serve_ingester
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.history_writer import HistoryWriter
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.operators.clusters import Hub, HubOptions
from quarterdeck.operators.clusters.metrics import HubMetrics
from quarterdeck.operators.clusters.pool import ClientPool
from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles
from quarterdeck.services.ingester.server import Ingester
from quarterdeck.testing.poll import eventually


@pytest.fixture(scope="session", autouse=True)
def _grpc_pollers() -> None:
    async def connect() -> None:
        async with running_hub() as hub, hub.connect("warm", await hub.issue("warm")):
            pass

    asyncio.run(connect())


async def test_the_ingester_listens_as_soon_as_its_files_are_there(tmp_path: Path) -> None:
    clock = VirtualClock()
    state, history = open_embedded(None, clock=clock), open_history(None, clock=clock)
    hub = Hub(
        state=state,
        history=HistoryWriter(history, clock=clock),
        pool=ClientPool(clock=clock),
        options=HubOptions(),
        metrics=HubMetrics(),
        clock=clock,
    )
    files = TlsFiles(certificate=tmp_path / "tls.crt", key=tmp_path / "tls.key")
    options = IngesterOptions(port=0, tls=files, drain_s=0.1)
    ingester = Ingester(state, history, options=options, clock=clock)
    address = IngesterAddress()
    async with Supervisor("test") as tasks:
        tasks.spawn(serve_ingester(ingester, hub, address, clock=clock), name="ingester")
        await eventually(lambda: "tls.crt" in hub.ingester_problem)
        assert "INGESTER_TLS_CERT" in hub.ingester_problem
        request = CertificateRequest("ingester", timedelta(days=1), ("localhost",))
        issued = issue_certificate(request, now=SystemClock().now())
        (tmp_path / "tls.crt").write_bytes(issued.encode_certificate())
        (tmp_path / "tls.key").write_bytes(issued.encode_key())
        await eventually(lambda: clock.next_deadline is not None)
        await clock.advance(31)
        await eventually(address.listening.is_set)
        assert hub.ingester_problem == ""
        assert address.port > 0
        await tasks.cancel_all()
    await history.aclose()
    await state.aclose()
