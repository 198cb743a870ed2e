"""A reader of a page: types its commands into a real shell, beside a real `quarterdeck up`.

The reader's folder looks like a checkout (links to this one), and keeps what the page makes. Ports
of the pages are replaced by free ones. The terminals in which a page leaves a program running
are background processes here; they end with Ctrl-C.
"""

import contextlib
import os
import random
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from page_blocks import ROOT
from page_steps import Command, Save, Step, matches
from page_terminal import LIMIT_S, PageError, Terminal

from quarterdeck.cli.commands import COMMANDS, PACKAGE, Found, load

PORTS = {
    "--port": 6443,
    "--http-port": 3000,
    "--health-port": 8081,
    "--metrics-port": 8080,
    "--dashboard-port": 8088,
    "--ingester-port": 9443,
    "--fleet-port": 8089,
    "--webhook-port": 9444,
    "--runner-webhook-port": 9445,
    "--bootstrap-port": 8445,
}
"""The flags of `up` with the ports that pages name."""
_LINKED = (".tools", "charts", "config", "docs", "examples", "experiments", "src", "tools", "web")
_SERVING = re.compile(
    r"(?:[A-Z_]+=\S+ \\?\n?)*quarterdeck (run|server|fleet|hub|ingester|collector|dev)\b"
    r"|quarterdeck (bootstrap|machine-agent --config)\b|redis-server\b"
)
_READY = r"(?i)\bready\b|running|serving|started|attested as"
_STARTING_UP = re.compile(r"make run(?: ARGS=(.*))?|quarterdeck up\b(.*)")
_TESTING = re.compile(r"make (shell|test)\b")
_FOLLOWING = re.compile(
    r"(kubectl|quarterdeck) (get|events|logs|watch)\b.* (-w|--watch|-f|--follow)\b"
    r"|quarterdeck watch\b|curl\b.* -N\b|curl -N\b|tail -f\b"
)
_READING = re.compile(
    r"kubectl (get|describe|explain|auth can-i|wait)\b|curl -N?\s*'?http|tail\b|openssl x509"
    r"|(\.venv/bin/)?quarterdeck (get|describe|why|events|logs|doctor|watch)\b"
    r"|quarterdeck (access explain|clusters (list|top)|experiments (tree|compare))"
    r"|quarterdeck machines rollout (status|history)"
)
"""Commands that change nothing: a reader repeats them until the page's output is there."""


class Reader:
    """Does the steps of one page."""

    def __init__(self, folder: Path, *, starts_up: bool) -> None:
        self._folder = folder
        self._state = folder / ".reader-state"
        self._ports: dict[int, int] = {}
        self._up_flags: list[str] | None = [] if starts_up else None
        self._terminals: list[Terminal] = []
        self._pause = threading.Event()
        self._environment = dict(os.environ)
        make_checkout(folder)
        folders = (str(folder / ".venv/bin"), str(ROOT / ".tools/bin"), os.environ["PATH"])
        self._environment["PATH"] = os.pathsep.join(folders)
        self._environment["KUBECONFIG"] = str(folder / ".quarterdeck/kubeconfig")
        self._environment.setdefault("GOCACHE", str(Path.home() / ".cache/go-build"))
        self._environment["HOME"] = str(folder)

    def do(self, step: Step) -> None:
        """Do one step."""
        if isinstance(step, Save):
            with (self._folder / step.path.removeprefix("+")).open(
                "a" if step.path.startswith("+") else "w"
            ) as file:
                file.write(self._use_free_ports(step.block.text))
        else:
            self._type(step)

    def close(self) -> None:
        """End every program that the page left running."""
        for terminal in reversed(self._terminals):
            terminal.close()

    def _type(self, command: Command) -> None:
        line = command.text.strip()
        if line.startswith("Ctrl-C"):
            self._stop_server(line.removeprefix("Ctrl-C").strip())
            return
        if _TESTING.match(line):
            return  # a reader's shell has what `make shell` sets; `make test` is running this
        if started := _STARTING_UP.fullmatch(line.partition(" #")[0].strip()):
            self._up_flags = shlex.split((started[1] or started[2] or "").strip("\"' "))
            return  # started by the next command, so that a page can say it twice
        self._ensure_up()
        command = command._replace(text=self._use_free_ports(command.text))
        if _SERVING.match(line) and "--help" not in line and not _is_group(line):
            self._leave_running(command)
        elif _FOLLOWING.search(line):
            self._follow(command)
        else:
            self._run(command)

    def _ensure_up(self) -> None:
        if self._up_flags is None:
            return
        flags = [word for flag, port in PORTS.items() for word in (flag, str(self._free(port)))]
        health = f"http://127.0.0.1:{self._free(PORTS['--health-port'])}"
        self._environment["QUARTERDECK_HEALTH_URL"] = health
        words = ["quarterdeck", "up", *flags, *self._up_flags]
        self._up_flags = None
        self._stop_server()
        self._terminals.append(self._open_terminal(shlex.join(words), ready="Activity"))

    def _leave_running(self, command: Command) -> None:
        if " server" in command.text and "--data-dir" not in command.text:
            self._stop_server()
        line = command.text.strip().partition(" #")[0]
        text = f"{line} {shlex.join(self._list_ports(line))}"
        self._terminals.append(self._open_terminal(text, ready=_READY))

    def _list_ports(self, text: str) -> list[str]:
        """Flags with free ports for those that a program would take by default."""
        found = re.search(r"quarterdeck ([a-z-]+)", text)
        if found is None:
            return []
        command = load(Found("quarterdeck", "", None, COMMANDS, PACKAGE), found[1]).command
        assert command is not None
        known = command.build_parser("quarterdeck")._option_string_actions
        given = shlex.split(text, comments=True)
        if found[1] == "server":
            return [] if "--port" in given else ["--port", str(self._free(PORTS["--port"]))]
        return [
            word
            for flag in PORTS
            if flag in known and flag not in given and flag != "--http-port"  # off by default
            for word in (flag, str(find_port()))
        ]

    def _stop_server(self, folder: str = "") -> None:
        """End the API server that has a data folder, as a reader does before starting another."""
        for terminal in [each for each in self._terminals if each.data_folder == folder]:
            terminal.close()
            self._terminals.remove(terminal)

    def _open_terminal(self, text: str, *, ready: str) -> "Terminal":
        terminal = Terminal(self._wrap(f"exec env {text}"), self._folder, self._environment)
        try:
            terminal.wait_for(ready)
        except PageError:
            terminal.close()
            raise
        return terminal

    def _run(self, command: Command) -> None:
        deadline = time.monotonic() + LIMIT_S
        is_reading = _READING.match(command.text) is not None
        while True:
            done = subprocess.run(
                self._wrap(command.text),
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S * 3,
                check=False,
            )
            is_right = not command.output or matches(command.output, done.stdout + done.stderr)
            if done.returncode == 0 and is_right:
                return
            if not is_reading or time.monotonic() > deadline:
                raise PageError(_explain(command, done.stdout + done.stderr, done.returncode))
            self._pause.wait(0.5)  # a person looks again: the page promises a result, no moment

    def _follow(self, command: Command) -> None:
        terminal = Terminal(self._wrap(command.text), self._folder, self._environment)
        try:
            terminal.wait_until(
                lambda seen: (
                    matches(command.output, seen, is_followed=True)
                    if command.output
                    else bool(seen.strip())
                ),
                lambda seen: _explain(command, seen, None),
            )
        finally:
            terminal.close()

    def _wrap(self, text: str) -> list[str]:
        """A shell that has the variables and the folder of the commands before."""
        state = shlex.quote(str(self._state))
        script = (
            f"[ ! -e {state} ] || . {state}\nset -a -o pipefail\n{text}\n"
            f'code=$?\nset +a\nexport -p > {state}\necho "cd $(printf %q "$PWD")" >> {state}\n'
            "exit $code\n"
        )
        return ["bash", "-c", script]

    def _use_free_ports(self, text: str) -> str:
        def replace(found: re.Match[str]) -> str:
            return f"{found[1]}{self._free(int(found[2]))}"

        return re.sub(r"((?:127\.0\.0\.1|localhost):|--port[ =])(\d{4,5})\b", replace, text)

    def _free(self, port: int) -> int:
        if port not in self._ports:
            self._ports[port] = find_port()
        return self._ports[port]


def find_port() -> int:
    """A free port below those that the system gives to outgoing connections."""
    while True:
        port = random.randrange(12_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextlib.contextmanager
def reading(folder: Path, *, starts_up: bool) -> Iterator[Reader]:
    """A reader in a folder; its programs end with the block."""
    reader = Reader(folder, starts_up=starts_up)
    try:
        yield reader
    finally:
        reader.close()


def make_checkout(folder: Path) -> None:
    """Make a folder look like this checkout; what commands write stays in the folder."""
    for name in (*_LINKED, *(each.name for each in ROOT.iterdir() if each.is_file())):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    programs = folder / ".venv/bin"
    programs.mkdir(parents=True)
    for purpose in ("run", "test"):
        (folder / f".venv/.installed-{purpose}").touch()  # for make
    for name, module in (("quarterdeck", "quarterdeck.cli"), ("pytest", "pytest")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (programs / name).chmod(0o755)


def _is_group(line: str) -> bool:
    """Whether a word below a serving command names another one, as in `server snapshot`."""
    words = shlex.split(line, comments=True)
    if "quarterdeck" not in words:
        return False
    index = words.index("quarterdeck") + 2
    return words[index - 1] == "server" and index < len(words) and words[index].isalpha()


def _explain(command: Command, output: str, code: int | None) -> str:
    ended = "" if code in (0, None) else f" ended with {code}"
    wanted = f"\n--- the page says\n{command.output}" if command.output else ""
    return f"{command.block.name}: {command.text.strip()}{ended}{wanted}\n--- printed\n{output}"
