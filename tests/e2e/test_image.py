"""The image that `make image` assembles, started in a chroot on a read-only root."""

import json
import os
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from image_build import layout

from quarterdeck.testing import programs

pytestmark = [pytest.mark.slow, pytest.mark.full]  # downloads Debian packages

USER = 65532
TAGS = ("collector", "hub", "machine-agent", "operator")
READ_ONLY = (
    'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && mount -t tmpfs tmpfs "$0/tmp" '
    '&& exec chroot --userspec=65532:65532 "$0" "$@"'
)
"""What a container runtime does for a pod with readOnlyRootFilesystem and an emptyDir on /tmp."""


class Image(NamedTuple):
    """An assembled image, and its files."""

    layout: Path
    root: Path
    config: dict[str, Any]

    def command(self, *arguments: str) -> list[str]:
        """The entry point with other arguments, in a mount namespace of its own."""
        entry = self.config["Entrypoint"]
        return ["unshare", "--mount", "sh", "-c", READ_ONLY, str(self.root), *entry, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        pairs = (each.partition("=") for each in self.config["Env"])
        return (
            {"HOME": "/home/nonroot"}
            | {name: value for name, _, value in pairs}
            | {"PATH": os.environ["PATH"]}
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )


@pytest.fixture(scope="module")
def image(oci_layout: Path, tmp_path_factory: pytest.TempPathFactory) -> Image:
    for name in ("unshare", "chroot"):
        programs.require(name)
    if os.geteuid() != 0:
        pytest.skip("only root may chroot and mount")
    folder = tmp_path_factory.mktemp("files")
    config = layout.extract(oci_layout, "operator", folder / "root")
    return Image(oci_layout, folder / "root", config["config"])


def test_no_file_is_writable_by_its_user(image: Image) -> None:
    writable = {
        str(each.relative_to(image.root))
        for each in image.root.rglob("*")
        if not each.is_symlink() and is_writable(each)
    }
    assert writable == {"tmp", "home/nonroot"}


def is_writable(path: Path) -> bool:
    found = path.stat()
    return bool(found.st_mode & stat.S_IWOTH) or found.st_uid == USER


def test_no_program_changes_its_user(image: Image) -> None:
    special = stat.S_ISUID | stat.S_ISGID
    files = [each for each in image.root.rglob("*") if not each.is_symlink()]
    assert [each for each in files if each.stat().st_mode & special] == []


def test_there_is_no_shell_and_no_package_manager(image: Image) -> None:
    programs_there = {each.name for each in (image.root / "usr/bin").iterdir()}
    assert not programs_there & {"sh", "bash", "dash", "apt-get", "dpkg", "pip", "perl"}


def test_image_is_small(image: Image) -> None:
    size = sum(each.stat().st_size for each in (image.layout / "blobs/sha256").iterdir())
    assert size < 60_000_000, f"{size / 1e6:.0f} MB"


@pytest.mark.parametrize("tag", TAGS)
def test_every_image_has_its_own_command(image: Image, tag: str, tmp_path: Path) -> None:
    config = layout.extract(image.layout, tag, tmp_path / "root")["config"]
    shutil.rmtree(tmp_path / "root")
    assert config["User"] == f"{USER}:{USER}"
    done = image.run(*config["Cmd"], "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: quarterdeck {config['Cmd'][0]}")


def test_server_runs_as_its_user_on_a_read_only_root_and_ends_on_a_signal(image: Image) -> None:
    flags = ("--in-memory", "--port", "0", "--write-kubeconfig", "/tmp/kubeconfig")
    with subprocess.Popen(
        image.command("server", *flags),
        env=image.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if line.startswith("ready"):
                break
        else:
            pytest.fail(process.stderr.read())
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=240)
    assert f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}" in status
    assert f"Gid:\t{USER}\t{USER}\t{USER}\t{USER}" in status
    assert (process.returncode, errors) == (0, "")


def test_root_cannot_be_written(image: Image) -> None:
    flags = ("--in-memory", "--port", "0", "--write-kubeconfig", "/home/nonroot/kubeconfig")
    done = image.run("server", *flags)
    assert done.returncode != 0
    assert "Read-only file system" in done.stderr


def test_sbom_lists_every_package(image: Image) -> None:
    document = json.loads(image.layout.with_suffix(".cdx.json").read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    listed = {each["purl"].partition("?")[0] for each in document["components"]}
    site = next(image.root.glob("usr/local/lib/python3*/dist-packages"))
    for each in site.glob("*.dist-info"):
        name, version = each.name.removesuffix(".dist-info").split("-")
        purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
        assert purl in listed or name == "quarterdeck", purl
    for each in (image.root / "usr/share/doc").iterdir():
        assert any(purl.startswith(f"pkg:deb/debian/{quote(each.name)}") for purl in listed), (
            each.name
        )
