"""A fleet of thousands of collectors that poll one server process, as Alloy does.

Nothing else that can be self-hosted speaks this protocol, so there is no peer: processor time and
rates stand beside the calibration of the machine, and matching is compared with asking every
pipeline.
"""

import base64
import itertools
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from bench import machine
from bench.peers import fleet_server
from bench.process import Child
from bench.series import Figures, Runs, Series, case
from bench.suite import OURS, Case, Contenders, Scale, Suite
from bench.timing import per_call_us

CONNECTIONS = 16
GET_CONFIG = "/collector.v1.CollectorService/GetConfig"
REGISTER = "/collector.v1.CollectorService/RegisterCollector"
UPDATE = "/pipeline.v1.PipelineService/UpdatePipeline"


def cases(scale: Scale) -> Sequence[Case]:
    fleet, count = scale.pick((300, 50), (10_000, 500), (10_000, 500))
    polls = scale.pick(300, 10_000, 30_000)
    growth = scale.pick((50, 100, 200), (125, 250, 500, 1_000), (125, 250, 500, 1_000, 2_000))
    size = f"{fleet:,} collectors, {count} pipelines, every tenth in a rollout"
    wall = f"{size}; wall clock, server on one core and collectors on the other"
    polling = Series(lambda: _polling(fleet, count, polls), rounds=scale.pick(1, 3, 5))
    return [
        replace(
            case(polling, "GetConfig, unchanged", "calls a second", "rate", note=wall),
            is_more_better=True,
        ),
        case(polling, "GetConfig, unchanged, cost", "CPU µs a call", "cost", note=size),
        _generator_case(polling),
        case(
            polling,
            "change of a pipeline until every collector has it",
            "s",
            "change",
            note=f"{size}; wall clock with all the polls",
        ),
        Case(
            name="RegisterCollector, durable",
            unit="calls a second",
            open=lambda _: _registering(fleet, count, max(CONNECTIONS, polls // 5)),
            is_more_better=True,
            note=f"{size}; {CONNECTIONS} at once, each on disk before it is answered",
        ),
        Case(
            name="compute a configuration, without and with rollouts",
            unit="µs",
            open=lambda _: _computing(min(fleet, 1_000), count),
            note=f"{count} pipelines, every tenth with a candidate for 10 % of the collectors",
        ),
        Case(
            name="plan a change of every pipeline",
            unit="s",
            open=lambda _: _planning(fleet, count),
            note=f"{fleet:,} collectors, {count} pipelines; who gains, loses or changes, and a "
            "diff of one configuration",
        ),
        Case(
            name="match one collector, growth by pipelines", unit="µs", open=_matching, sizes=growth
        ),
    ]


class Fleet(Child):
    """The server process and the requests its collectors send."""

    def __init__(self, collectors: int, pipelines: int) -> None:
        command = ["-m", "bench.peers.fleet_server", str(collectors), str(pipelines)]
        super().__init__(command, core=1)
        self.port = int(self.line() or "0")
        if not self.port:
            self.close()
            raise RuntimeError("the fleet server did not start")
        self._pipelines = pipelines
        self._hashes = [""] * collectors
        self._sockets = [
            socket.create_connection(("127.0.0.1", self.port), timeout=20)
            for _ in range(CONNECTIONS)
        ]
        self._by_descriptor = {each.fileno(): each for each in self._sockets}
        for each in self._sockets:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def spent_s(self) -> float:
        """The processor time the server has used so far."""
        return float(self.ask())

    def polls(self, count: int) -> list[bytes]:
        """GetConfig of the first collectors, each with the hash it has."""
        return [self._poll(each % len(self._hashes)) for each in range(count)]

    def _poll(self, number: int) -> bytes:
        from quarterdeck.telemetry.fleet import protobuf

        message = {
            "id": f"edge-{number}",
            "hash": self._hashes[number],
            "localAttributes": fleet_server.attributes(number, self._pipelines),
        }
        data = protobuf.encode("GetConfigRequest", message)
        text = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        return _request("GET", f"{GET_CONFIG}?base64=1&connect=v1&encoding=proto&message={text}")

    def registration(self, number: int) -> bytes:
        """RegisterCollector of one collector."""
        from quarterdeck.telemetry.fleet import protobuf

        message = {
            "id": f"edge-{number}",
            "name": f"edge {number}",
            "localAttributes": fleet_server.attributes(number, self._pipelines),
        }
        data = protobuf.encode("RegisterCollectorRequest", message)
        return _request("POST", REGISTER, data)

    def update(self, number: int, revision: int) -> bytes:
        """UpdatePipeline with another text."""
        from quarterdeck.telemetry.fleet import protobuf

        message = fleet_server.pipeline(number, self._pipelines, revision=revision).to_message()
        data = protobuf.encode("UpdatePipelineRequest", {"pipeline": message})
        return _request("POST", UPDATE, data)

    def learn(self) -> int:
        """Ask for everybody's configuration; how many got a new one."""
        from quarterdeck.telemetry.fleet import protobuf

        bodies = self.exchange(self.polls(len(self._hashes)))
        changed = 0
        for number, body in enumerate(bodies):
            answer = protobuf.decode("GetConfigResponse", body)
            changed += not answer.get("notModified")
            self._hashes[number] = answer["hash"]
        return changed

    def exchange(self, requests: Sequence[bytes]) -> list[bytes]:
        """Send each request once, one at a time on each connection; the bodies of the answers.

        A connection sends its next request when it has its answer, whatever the others do: the
        server is never out of work.
        """
        bodies = [b""] * len(requests)
        numbers = iter(range(len(requests)))
        with selectors.DefaultSelector() as answering:
            for connection, number in zip(self._sockets, numbers, strict=False):
                connection.sendall(requests[number])
                answering.register(connection, selectors.EVENT_READ, number)
            while answering.get_map():
                for key, _ in answering.select():
                    connection = self._by_descriptor[key.fd]
                    bodies[key.data] = _body(connection)
                    answering.unregister(connection)
                    if (number := next(numbers, -1)) >= 0:
                        connection.sendall(requests[number])
                        answering.register(connection, selectors.EVENT_READ, number)
        return bodies

    def close(self) -> None:
        """Close the connections and the server."""
        for each in getattr(self, "_sockets", ()):
            each.close()
        super().close()


def _request(method: str, target: str, body: bytes | None = None) -> bytes:
    token = base64.b64encode(f"1:{fleet_server.TOKEN}".encode()).decode()
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"User-Agent: connect-go/1.18.1 (go1.24)\r\n"
        f"Accept-Encoding: gzip\r\nAuthorization: Basic {token}\r\n"
    )
    if body is None:
        return f"{head}\r\n".encode()
    head += f"Content-Type: application/proto\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _body(connection: socket.socket) -> bytes:
    """The body of one answer, without compression undone."""
    answer = b""
    while True:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the server closed a connection under load")
        answer += data
        head, separator, body = answer.partition(b"\r\n\r\n")
        if not separator:
            continue
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the server answered {head[:40]!r} {body[:200]!r}")
        if len(body) >= int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]):
            return _unzipped(head, body)


def _unzipped(head: bytes, body: bytes) -> bytes:
    import gzip

    return gzip.decompress(body) if b"gzip" in head.lower() else body


@contextmanager
def _started(collectors: int, pipelines: int) -> Iterator[Fleet]:
    with Fleet(collectors, pipelines) as fleet:
        cores = machine.affinity()
        machine.pin(0)
        try:
            yield fleet
        finally:
            machine.restore(cores)


@contextmanager
def _polling(collectors: int, pipelines: int, polls: int) -> Iterator[Runs]:
    with _started(collectors, pipelines) as fleet:
        if fleet.learn() != collectors or fleet.learn() != 0:
            raise AssertionError("a collector did not get its configuration once")
        revisions = itertools.count(2)

        def run(figures: Figures) -> None:
            requests = fleet.polls(polls)
            before, own, start = fleet.spent_s(), time.process_time(), time.perf_counter()
            fleet.exchange(requests)
            took, own = time.perf_counter() - start, time.process_time() - own
            figures["rate"] = polls / took
            figures["cost"] = (fleet.spent_s() - before) / polls * 1e6
            figures["generator"] = own / took * 100
            figures["change"] = _change(fleet, collectors, next(revisions))

        yield {OURS: run}


def _change(fleet: Fleet, collectors: int, revision: int) -> float:
    polls, change = fleet.polls(collectors), fleet.update(1, revision)
    start = time.perf_counter()
    fleet.exchange([change])
    fleet.exchange(polls)
    took = time.perf_counter() - start
    if not 0 < fleet.learn() < collectors:
        raise AssertionError("the change did not reach the collectors it is for")
    return took


def _generator_case(polling: Series) -> Case:
    """Named after the generator, since it is none of our figures."""
    return Case(
        name="GetConfig, unchanged, the load generator",
        unit="% of its core",
        open=lambda _: nullcontext({"load generator": polling.contenders("generator")[OURS]}),
        rounds=polling.rounds,
        note="Near 100 the rate would be the generator's, and a lower bound for the server.",
    )


@contextmanager
def _registering(collectors: int, pipelines: int, count: int) -> Iterator[Contenders]:
    with _started(collectors, pipelines) as fleet:
        first = collectors

        def run() -> float:
            nonlocal first
            requests = [fleet.registration(first + each) for each in range(count)]
            first += count
            start = time.perf_counter()
            fleet.exchange(requests)
            return count / (time.perf_counter() - start)

        yield {OURS: run}


@contextmanager
def _computing(fleet: int, count: int) -> Iterator[Contenders]:
    from quarterdeck.services.fleet.configs import Configs
    from quarterdeck.services.fleet.pipelines import Pipelines

    plain = [fleet_server.pipeline(number, count) for number in range(count)]
    rolled = list(fleet_server.pipelines(count))
    collectors = list(fleet_server.collectors(fleet, count))

    def measure(pipelines: Pipelines) -> float:
        def compute() -> None:
            configs = Configs(pipelines)
            for each in collectors:
                configs.get_config(each)

        return per_call_us(compute, calls=fleet)

    with_rollouts, without = Pipelines(rolled, ()), Pipelines(plain, ())
    yield {
        OURS: lambda: measure(with_rollouts),
        "without rollouts": lambda: measure(without),
    }


@contextmanager
def _planning(fleet: int, count: int) -> Iterator[Contenders]:
    from quarterdeck.operators.pipelines.blast_radius import Planned, diff_config, plan_impact
    from quarterdeck.operators.pipelines.ports import RemoteCollector

    before = [
        Planned(each.name, each.contents, each.matchers)
        for each in (fleet_server.pipeline(number, count) for number in range(count))
    ]
    after = [each._replace(contents=f"{each.contents}// changed\n") for each in before]
    collectors = [
        RemoteCollector(each.id, local=each.local_attributes, remote=each.remote_attributes)
        for each in fleet_server.collectors(fleet, count)
    ]

    def run() -> float:
        start = time.perf_counter()
        impact = plan_impact(collectors, before, after)
        diff = diff_config(collectors[0], before, after)
        took = time.perf_counter() - start
        if len(impact.change) != fleet or not diff:
            raise AssertionError("a change of every pipeline must change every collector")
        return took

    yield {OURS: run}


@contextmanager
def _matching(size: int) -> Iterator[Contenders]:
    from quarterdeck.services.fleet.records import ALLOY
    from quarterdeck.telemetry.matchers import match_all
    from quarterdeck.telemetry.matching import MatchIndex

    pipelines = [fleet_server.pipeline(each, size) for each in range(size)]
    asked = [(each, each.parse_matchers()) for each in sorted(pipelines, key=lambda one: one.name)]
    index = MatchIndex(pipelines)
    effective = [each.get_effective_attributes() for each in fleet_server.collectors(200, size)]

    def by_index() -> list[list[str]]:
        return [[found.id for found in index.match(each, ALLOY)] for each in effective]

    def one_by_one() -> list[list[str]]:
        return [
            [pipeline.id for pipeline, matchers in asked if match_all(matchers, each)]
            for each in effective
        ]

    if by_index() != one_by_one():
        raise AssertionError("the index and asking every pipeline disagree")
    yield {
        OURS: lambda: per_call_us(by_index, calls=len(effective)),
        "asking every pipeline": lambda: per_call_us(one_by_one, calls=len(effective)),
    }


SUITE = Suite(
    name="fleet",
    title="The fleet server under thousands of collectors",
    cases=cases,
    versions=("uvloop", "google-re2"),
    is_process=True,
)
