"""A vTPM for each VM, with an endorsement certificate that a local authority signs.

The authority is stored beside the VMs; attestation has to trust its certificates.
"""

import asyncio
import os
import shutil
import signal
import tempfile
from pathlib import Path

from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.operators.machines.drivers.qemu.command import TPM_SOCKET
from quarterdeck.operators.machines.drivers.qemu.folder import Folder, VmFolder

AUTHORITY = "tpm-authority"
_PID = "swtpm.pid"
_CERTIFICATES = ("swtpm-localca-rootca-cert.pem", "issuercert.pem")
"""File names of swtpm_localca: the root, and the certificate that signs endorsement keys."""


class Tpms:
    """Makes and starts vTPMs."""

    def __init__(self, folder: Folder) -> None:
        self._authority = folder.path / AUTHORITY
        self._making = asyncio.Lock()

    @property
    def is_supported(self) -> bool:
        """Whether the programs are installed."""
        return programs.has(programs.SWTPM, programs.SWTPM_SETUP)

    async def ensure(self, at: VmFolder) -> None:
        """Make a vTPM with keys of its own, if the VM has none."""
        if at.tpm.is_dir():
            return
        fresh = at.path / "tpm.new"
        async with self._making:  # the authority counts its certificates in a file
            config = await asyncio.to_thread(self._prepare, fresh)
            options = ["--tpm2", "--tpmstate", str(fresh), "--createek", "--create-ek-cert"]
            options += ["--create-platform-cert", "--lock-nvram", "--config", str(config)]
            await programs.check(programs.SWTPM_SETUP, options, folder=at.path)
        os.replace(fresh, at.tpm)

    async def read_roots(self) -> str:
        """The certificates of the authority, in PEM; it is created if it does not exist yet."""
        state = self._authority / "state"
        paths = [state / name for name in _CERTIFICATES]
        if not all(each.is_file() for each in paths):
            self._authority.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryDirectory(dir=self._authority) as name:
                await self.ensure(VmFolder(Path(name)))  # the first vTPM makes the authority
        return "".join([await asyncio.to_thread(each.read_text) for each in paths])

    async def start(self, at: VmFolder) -> None:
        """Start the process of the vTPM, which ends with that of the VM."""
        self.stop(at)
        (at.path / TPM_SOCKET).unlink(missing_ok=True)
        options = ["socket", "--tpm2", "--tpmstate", f"dir={at.tpm}", "--terminate", "--daemon"]
        options += ["--ctrl", f"type=unixio,path={TPM_SOCKET}"]
        options += ["--pid", f"file={at.path / _PID}"]
        await programs.check(programs.SWTPM, options, folder=at.path)

    def stop(self, at: VmFolder) -> None:
        """End a vTPM whose VM did not start; one that was in use has ended by itself."""
        try:
            number = int((at.path / _PID).read_text())
            command = Path(f"/proc/{number}/cmdline").read_bytes()
        except (OSError, ValueError):
            return
        if f"dir={at.tpm}".encode() in command.split(b"\0"):
            os.kill(number, signal.SIGKILL)

    def _prepare(self, fresh: Path) -> Path:
        """Write the settings of the authority, and make an empty folder for the state."""
        if fresh.exists():
            shutil.rmtree(fresh)
        fresh.mkdir(mode=0o700)
        state = self._authority / "state"
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        tool = shutil.which("swtpm_localca") or "/usr/bin/swtpm_localca"
        texts = {
            "authority.conf": (
                f"statedir = {state}\nsigningkey = {state}/signkey.pem\n"
                f"issuercert = {state}/issuercert.pem\ncertserial = {state}/certserial\n"
            ),
            "authority.options": (
                "--platform-manufacturer quarterdeck\n--platform-version 1.0\n"
                "--platform-model qemu\n"
            ),
            "setup.conf": (
                f"create_certs_tool = {tool}\n"
                f"create_certs_tool_config = {self._authority}/authority.conf\n"
                f"create_certs_tool_options = {self._authority}/authority.options\n"
                "active_pcr_banks = sha256\n"
            ),
        }
        for name, text in texts.items():
            (self._authority / name).write_text(text)
        return self._authority / "setup.conf"
