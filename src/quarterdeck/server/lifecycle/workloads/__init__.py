"""Workloads that behave as if a cluster ran them."""

from collections.abc import Iterator

from quarterdeck.server.lifecycle.controller import Controller


def simulated(nodes: int) -> Iterator[Controller]:
    """The controllers that pretend."""
    yield from ()
