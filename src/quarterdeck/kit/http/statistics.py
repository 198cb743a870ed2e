"""Counters that servers and clients report."""

import msgspec


class ServerStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of a server: what is open now, and what happened since its start."""

    connections: int
    requests_running: int
    streams_running: int
    connections_total: int
    requests_total: int
    responses_5xx_total: int
    handler_errors_total: int
    malformed_total: int
    timeouts_total: int
    handshake_failures_total: int
    evicted_total: int
    bytes_written_total: int


class ClientStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """A moment of a client's pool, and what happened since its start."""

    connections: int
    idle: int
    waiting: int
    connections_total: int
    requests_total: int
    retries_total: int
