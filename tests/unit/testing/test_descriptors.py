"""Descriptors that a test has left open."""

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from quarterdeck.testing.descriptors import find_leaked_descriptors, list_descriptors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc/self/fd")


def test_an_open_file_is_found_by_its_path(tmp_path: Path) -> None:
    before = list_descriptors()
    descriptor = os.open(tmp_path / "left-open", os.O_CREAT | os.O_WRONLY)
    try:
        leaked = find_leaked_descriptors(before, within_s=0.0)
        assert leaked == {descriptor: str(tmp_path / "left-open")}
    finally:
        os.close(descriptor)
    assert find_leaked_descriptors(before) == {}


def test_an_open_socket_is_found() -> None:
    before = list_descriptors()
    near, far = socket.socketpair()
    with near, far:
        leaked = find_leaked_descriptors(before, within_s=0.0)
        assert set(leaked) == {near.fileno(), far.fileno()}
        assert all(target.startswith("socket:") for target in leaked.values())


def test_a_descriptor_that_was_open_before_is_no_leak() -> None:
    near, far = socket.socketpair()
    with near, far:
        assert find_leaked_descriptors(list_descriptors(), within_s=0.0) == {}


def test_a_descriptor_number_that_is_used_again_is_a_leak(tmp_path: Path) -> None:
    first = os.open(tmp_path / "first", os.O_CREAT | os.O_WRONLY)
    before = list_descriptors()
    os.close(first)
    second = os.open(tmp_path / "second", os.O_CREAT | os.O_WRONLY)
    try:
        assert second == first
        leaked = find_leaked_descriptors(before, within_s=0.0)
        assert leaked == {second: str(tmp_path / "second")}
    finally:
        os.close(second)


def test_a_thread_that_is_still_closing_is_waited_for(tmp_path: Path) -> None:
    before = list_descriptors()
    descriptor = os.open(tmp_path / "closing", os.O_CREAT | os.O_WRONLY)
    timer = threading.Timer(0.05, os.close, (descriptor,))
    timer.start()
    assert find_leaked_descriptors(before, within_s=15.0) == {}
    timer.join()
