"""Archives that try to leave their folder."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.agents.machine.archive import ArchiveError, unpack


def pack(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            data = b"x" * 3 if member.isreg() else b""
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def file(name: str, mode: int = 0o644) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mode = mode
    return member


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, target, 0o755
    return member


def special(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    return member


def test_files_folders_and_links_inside_are_unpacked(tmp_path: Path) -> None:
    members = (
        file("bin/run.sh", 0o4755),
        link("run", "bin/run.sh"),
        link("bin/up", "../bin/run.sh"),
        link("same", "bin/run.sh", tarfile.LNKTYPE),
    )
    unpack(pack(tmp_path / "a.tar.gz", *members), tmp_path / "out")
    assert (tmp_path / "out/run").read_bytes() == b"xxx"
    assert (tmp_path / "out/bin/up").resolve() == tmp_path / "out/bin/run.sh"
    assert (tmp_path / "out/same").read_bytes() == b"xxx"
    mode = (tmp_path / "out/bin/run.sh").stat().st_mode & 0o7777
    assert mode == 0o755, "special bits are dropped"


ATTACKS: dict[str, Callable[[Path], tuple[tarfile.TarInfo, ...]]] = {
    "parent": lambda at: (file("../escaped"),),
    "deep parent": lambda at: (file("a/b/../../../escaped"),),
    "absolute": lambda at: (file(str(at / "escaped")),),
    "link to outside": lambda at: (link("a", ".."), file("a/escaped")),
    "absolute link": lambda at: (link("a", str(at)), file("a/escaped")),
    "link over a link": lambda at: (
        link("a", "b"),
        link("b", ".."),
        file("a/escaped"),
    ),
    "hard link to outside": lambda at: (link("a", "../victim", tarfile.LNKTYPE), file("a")),
    "device": lambda at: (special("a", tarfile.CHRTYPE),),
    "pipe": lambda at: (special("a", tarfile.FIFOTYPE),),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_members_that_leave_the_folder_are_refused(tmp_path: Path, attack: str) -> None:
    (tmp_path / "victim").write_text("untouched")
    archive = pack(tmp_path / "a.tar.gz", *ATTACKS[attack](tmp_path))
    with pytest.raises(ArchiveError, match=r"'a'|escaped|link"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "escaped").exists()
    assert (tmp_path / "victim").read_text() == "untouched"


def test_file_replaces_a_link_instead_of_being_written_through_it(tmp_path: Path) -> None:
    archive = pack(tmp_path / "a.tar.gz", file("kept"), link("a", "kept"), file("a"))
    unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out/a").is_symlink()


def test_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(ArchiveError, match=r"cannot unpack a\.tar\.gz"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "out")


def pack_text(kind: str) -> bytes:
    text = b"".join(b"line %d of %d\n" % (number, number**2) for number in range(2000))
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=f"w:{kind}") as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo("run.sh")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return data.getvalue()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_archive_that_was_damaged_on_the_way_is_refused(tmp_path: Path, kind: str) -> None:
    whole = pack_text(kind)
    path = tmp_path / f"a.tar.{kind}"
    for place in range(60, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(ArchiveError, match="cannot unpack"):
            unpack(path, tmp_path / "out")


NAMES = st.lists(st.sampled_from(["a", "b", "..", ".", "c"]), min_size=1, max_size=5).map("/".join)


@given(st.lists(st.tuples(NAMES, st.none() | NAMES), max_size=6))
def test_whatever_the_archive_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str | None]]
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    outer = folder / "outer"
    (outer / "inner").mkdir(parents=True)
    members = [file(name) if target is None else link(name, target) for name, target in entries]
    try:
        unpack(pack(folder / "a.tar.gz", *members), outer / "inner/out")
    except ArchiveError:
        pass
    assert [each.name for each in outer.iterdir()] == ["inner"]
    assert [each.name for each in (outer / "inner").iterdir()] == ["out"]
