"""Seed images, read back with a reader of the test's own and with the tools that are installed."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.iso9660 import SECTOR, build_image
from quarterdeck.testing import programs

NAMES = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz-_.0123456789"), min_size=1, max_size=20)
FILES = st.dictionaries(NAMES, st.binary(max_size=5000), max_size=8)


def read_image(image: bytes) -> tuple[str, dict[str, bytes]]:
    """The label and the files, by the Joliet names that Linux shows."""
    joliet = image[17 * SECTOR : 18 * SECTOR]
    assert joliet[:6] == b"\x02CD001"
    label = joliet[40:72].decode("utf-16-be").strip()
    (extent,) = struct.unpack_from("<I", joliet, 156 + 2)
    directory, at, files = image[extent * SECTOR : (extent + 1) * SECTOR], 0, {}
    while length := directory[at]:
        start, size = struct.unpack_from("<I4xI", directory, at + 2)
        name = directory[at + 33 : at + 33 + directory[at + 32]]
        if name not in (b"\0", b"\1"):
            files[name.decode("utf-16-be")] = image[start * SECTOR : start * SECTOR + size]
        at += length
    return label, files


@given(FILES)
def test_images_hold_what_was_put_in(files: dict[str, bytes]) -> None:
    image = build_image("cidata", files)
    assert len(image) % SECTOR == 0
    assert read_image(image) == ("cidata", files)
    assert build_image("cidata", dict(reversed(files.items()))) == image


@pytest.mark.parametrize("name", ["", "a/b", "a;1", "x" * 65])
def test_names_that_cannot_be_written_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="file name"):
        build_image("cidata", {name: b""})


def test_labels_that_are_too_long_are_refused() -> None:
    with pytest.raises(ValueError, match="label"):
        build_image("x" * 17, {})


def test_too_many_files_are_refused() -> None:
    with pytest.raises(ValueError, match="directory sector"):
        build_image("cidata", {f"{number:060d}": b"" for number in range(20)})


def test_xorriso_reads_an_image(tmp_path: Path) -> None:
    programs.require("xorriso")
    files = {"user-data": b"#cloud-config\n" * 500, "meta-data": b"instance-id: a\n"}
    (tmp_path / "seed.iso").write_bytes(build_image("cidata", files))
    command = ["xorriso", "-osirrox", "on", "-indev", "seed.iso", "-extract", "/", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Volume id    : 'cidata'" in done.stderr + done.stdout
    found = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert found == files
    subprocess.run([shutil.which("chmod") or "chmod", "-R", "u+w", "out"], cwd=tmp_path, check=True)
