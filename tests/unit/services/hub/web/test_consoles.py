"""The end of a console, and what is added to it."""

from pathlib import Path

import pytest

from quarterdeck.app.machine_consoles import parse_console
from quarterdeck.services.hub.web.consoles import Tail


def test_what_is_added_is_read_once(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    tail = Tail(log)
    assert tail.read() == b"", "a machine that has not started has no file"
    log.write_bytes(b"boot\n")
    assert tail.read() == b"boot\n"
    assert tail.read() == b""
    with log.open("ab") as file:
        file.write(b"login:")
    assert tail.read() == b"login:"


def test_a_long_console_is_read_from_near_its_end(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(b"0123456789")
    tail = Tail(log, shown_bytes=4)
    assert tail.read() == b"6789"
    with log.open("ab") as file:
        file.write(b"abcdefgh")
    assert tail.read() == b"efgh"


def test_a_machine_that_starts_again_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(b"a long first life\n")
    tail = Tail(log)
    tail.read()
    log.write_bytes(b"second\n")
    assert tail.read() == b"second\n"


def test_a_machine_that_is_gone_ends_its_console(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(b"bye\n")
    tail = Tail(log)
    tail.read()
    log.unlink()
    with pytest.raises(FileNotFoundError):
        tail.read()


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("file:///data/a%20b/vm.log", Path("/data/a b/vm.log")),
        ("unix:///data/vms/7/console.sock", Path("/data/vms/7/console.log")),
        ("https://pve.example.com/?console=kvm", "https://pve.example.com/?console=kvm"),
    ],
)
def test_addresses_of_consoles_become_files(url: str, found: Path | str) -> None:
    assert parse_console(url) == found
