"""A runner of GitHub Actions inside the machine: installed, registered, run once, removed."""

import http.client
import os
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarterdeck.agents.machine.archive import ArchiveError, unpack
from quarterdeck.agents.machine.programs import ProgramError, run

PLATFORM = "github-actions"
DOWNLOAD_TIMEOUT_S = 300.0
DOWNLOAD_FAILED, CONFIGURE_FAILED, RUN_FAILED = 2, 3, 4
"""Exit codes of the agent."""
_CHUNK = 1 << 20
_LARGEST = 1 << 31
_WORKER = b"Runner.Worker"
_ENVIRONMENT = {"RUNNER_ALLOW_RUNASROOT": "1"}
_REQUIRED = {
    "runner_token": "token",
    "registration_url": "registration_url",
    "runner_name": "name",
}


class RunnerError(Exception):
    """Raised when the runner cannot be used; `code` is the exit code for it. Holds no secret."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, kw_only=True)
class RunnerConfig:
    """The configuration of the runner, from the bootstrap service or a file."""

    token: str = field(repr=False)
    registration_url: str
    name: str
    labels: tuple[str, ...] = ()
    group: str = ""
    download_url: str = ""
    install_path: Path = Path("/opt/actions-runner")
    work_dir: Path = Path("/tmp/runner-work")
    config_script: str = "config.sh"
    run_script: str = "run.sh"


def parse_runner_config(document: dict[str, Any]) -> RunnerConfig | None:
    """Parse the configuration of a runner; None if the machine has none.

    Raises:
        ValueError: naming the member that is wrong.
    """
    if document.get("method") in (None, "", "none"):
        return None
    if document.get("platform") != PLATFORM:
        raise ValueError(f"platform {document.get('platform')!r} is not supported; use {PLATFORM}")
    runner = document.get("runner") or {}
    values: dict[str, Any] = {}
    for member, name in _REQUIRED.items():
        value = document.get(member)
        if not isinstance(value, str) or not value:
            raise ValueError(f"{member} is missing")
        values[name] = value
    for name in ("config_script", "run_script"):
        script = str(runner.get(name) or getattr(RunnerConfig, name))
        if "/" in script or script.startswith("."):
            raise ValueError(f"runner.{name} {script!r} is not the name of a file")
        values[name] = script
    for name in ("install_path", "work_dir"):
        path = Path(runner.get(name) or getattr(RunnerConfig, name))
        if not path.is_absolute() or len(path.parts) < 2 or ".." in path.parts:
            raise ValueError(f"runner.{name} {str(path)!r} is not the path of a folder of its own")
        values[name] = path
    url = str(runner.get("download_url") or "")
    if url and not url.startswith(("https://", "http://")):
        raise ValueError(f"runner.download_url {url!r} does not start with https://")
    return RunnerConfig(
        **values,
        download_url=url,
        labels=tuple(str(each) for each in document.get("labels") or ()),
        group=str(document.get("runner_group") or ""),
    )


class Runner:
    """The runner of this machine."""

    def __init__(self, config: RunnerConfig) -> None:
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Download, unpack and register.

        Raises:
            RunnerError: saying which of them failed.
        """
        config = self.config
        if config.download_url:  # an image may have it already
            self._download()
        script = config.install_path / config.config_script
        config.work_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        options = ["--url", config.registration_url, "--token", config.token]
        options += ["--name", config.name, "--labels", ",".join(config.labels)]
        options += ["--work", str(config.work_dir), "--unattended", "--ephemeral"]
        options += ["--runnergroup", config.group] if config.group else []
        try:
            run(str(script), *options, folder=config.install_path, environment=_ENVIRONMENT)
        except (ProgramError, OSError) as error:
            text = str(error).replace(config.token, "***")
            raise RunnerError(CONFIGURE_FAILED, f"cannot register the runner: {text}") from None

    def start(self) -> None:
        """Start the runner, which ends after one job.

        Raises:
            RunnerError: if it cannot be started.
        """
        script = self.config.install_path / self.config.run_script
        try:
            self._process = subprocess.Popen(
                [str(script)],
                cwd=self.config.install_path,
                env={**os.environ, **_ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise RunnerError(RUN_FAILED, f"cannot start the runner: {error}") from error

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll() if self._process is not None else 0

    def is_busy(self) -> bool:
        """Whether it runs a job, for which GitHub's runner starts a separate process."""
        if self._process is None or self._process.poll() is not None:
            return False
        group = self._process.pid
        return any(_WORKER in command for command in _list_commands(group))

    def stop(self) -> None:
        """Send SIGINT, so that it disconnects from GitHub and ends; call it only when not busy."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)

    def remove(self) -> None:
        """Remove its folders; credentials of the runner are in them."""
        for folder in (self.config.work_dir, self.config.install_path):
            shutil.rmtree(folder, ignore_errors=True)

    def _download(self) -> None:
        config = self.config
        archive = config.install_path.with_name(f"{config.install_path.name}.tar.gz")
        archive.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (
                urllib.request.urlopen(config.download_url, timeout=DOWNLOAD_TIMEOUT_S) as answer,
                archive.open("wb") as file,
            ):
                while chunk := answer.read(_CHUNK):
                    if file.tell() > _LARGEST:
                        raise ArchiveError(f"it is larger than {_LARGEST} bytes")
                    file.write(chunk)
            unpack(archive, config.install_path)
        except (OSError, http.client.HTTPException, ArchiveError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # an answer that is an error keeps its connection
            text = f"cannot install {config.download_url}: {error}"
            raise RunnerError(DOWNLOAD_FAILED, text) from error
        finally:
            archive.unlink(missing_ok=True)


def _list_commands(session: int) -> list[bytes]:
    """The command lines of the processes of a session."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                found.append((folder / "cmdline").read_bytes())
        except (OSError, IndexError, ValueError):
            continue  # it has ended meanwhile
    return found
