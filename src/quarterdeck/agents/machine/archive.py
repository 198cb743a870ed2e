"""Unpacks the runner's archive, and refuses members outside of its folder."""

import os
import shutil
import tarfile
import zlib
from pathlib import Path

_DAMAGED: tuple[type[Exception], ...] = (tarfile.TarError, OSError, EOFError, zlib.error)
"""What the standard library raises for an archive that is damaged or cannot be written."""
try:
    from lzma import LZMAError
except ImportError:  # pragma: no cover  # small images do not have it, and unpack no .xz
    pass
else:
    _DAMAGED = (*_DAMAGED, LZMAError)
_CHUNK = 1 << 20


class ArchiveError(Exception):
    """Raised when an archive cannot be unpacked, or a member is outside of the folder."""


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar archive, compressed or not.

    A member may be a file, a folder, or a link to something inside. Each one is checked against
    the files unpacked so far, because an earlier member may be a link.

    Raises:
        ArchiveError: at the first invalid member, which is not written.
    """
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    root = folder.resolve()
    try:
        with tarfile.open(archive) as opened:
            for member in opened:
                _check(member, root)
                _write(opened, member, root)
            _read_rest(opened)
    except _DAMAGED as error:
        raise ArchiveError(f"cannot unpack {archive.name}: {error}") from error


def _read_rest(opened: tarfile.TarFile) -> None:
    """Read to the end of the file, where the checksum of the compressed data is compared."""
    assert opened.fileobj is not None  # it is open
    while opened.fileobj.read(_CHUNK):
        pass


def _check(member: tarfile.TarInfo, root: Path) -> None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise ArchiveError(f"member {member.name!r} is not a file, folder or link")
    place = root / member.name
    if Path(member.name).is_absolute() or not _is_inside(place.parent / place.name, root):
        raise ArchiveError(f"member {member.name!r} would be written outside of {root}")
    if member.issym() and not _is_inside(place.parent / member.linkname, root):
        raise ArchiveError(f"link {member.name!r} points outside of {root}")
    if member.islnk() and not _is_inside(root / member.linkname, root):
        raise ArchiveError(f"link {member.name!r} points outside of {root}")


def _is_inside(path: Path, root: Path) -> bool:
    """Whether a path is inside of a folder, after links that exist now are resolved."""
    found = os.path.realpath(path)
    return found == str(root) or found.startswith(f"{root}{os.sep}")


def _write(opened: tarfile.TarFile, member: tarfile.TarInfo, root: Path) -> None:
    """Write one checked member: owned by the unpacking user, writable by no other, never setuid."""
    place = root / member.name
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    if member.issym():
        place.symlink_to(member.linkname)
    elif member.islnk():
        os.link(root / member.linkname, place, follow_symlinks=False)
    else:
        source = opened.extractfile(member)
        assert source is not None  # it is a file
        with source, place.open("xb") as target:
            shutil.copyfileobj(source, target)
        place.chmod(member.mode & 0o755)
