"""Write small ISO 9660 images with Joliet names: a handful of files in the root directory.

Enough for the seed disks that virtual machines read at their first start. The same files always
give the same bytes, so that a digest of the image identifies its content. Layout: system area,
primary and Joliet descriptors, terminator, one path table pair and one directory for each of the
two name spaces, then the files, which both directories share.
"""

import struct
from collections.abc import Mapping

SECTOR = 2048
_PRIMARY, _JOLIET, _TERMINATOR = 1, 2, 255
_FIRST_DESCRIPTOR = 16
_EPOCH = bytes((70, 1, 1, 0, 0, 0, 0))
_LONG_EPOCH = b"1970010100000000\0"
_NO_DATE = b"0" * 16 + b"\0"
_UCS2_LEVEL_3 = b"%/E"
_DIRECTORY = 0x02
_LONGEST_NAME = 64


def build_image(label: str, files: Mapping[str, bytes]) -> bytes:
    """An image with these files.

    Raises:
        ValueError: a label or a name is too long, or there are too many files for one directory.
    """
    _check(label, files)
    names = sorted(files)
    plain = {name: f"FILE{at:04d}.;1".encode() for at, name in enumerate(names)}
    joliet = {name: name.encode("utf-16-be") for name in names}
    tables = _FIRST_DESCRIPTOR + 3
    directories = tables + 4
    at, extents = directories + 2, dict[str, tuple[int, int]]()
    for name in names:
        extents[name] = (at, len(files[name]))
        at += _count_sectors(len(files[name]))
    image = bytearray(at * SECTOR)

    def put(sector: int, data: bytes) -> None:
        image[sector * SECTOR : sector * SECTOR + len(data)] = data

    for index, (kind, spelled) in enumerate(((_PRIMARY, plain), (_JOLIET, joliet))):
        directory, table = directories + index, tables + 2 * index
        put(_FIRST_DESCRIPTOR + index, _encode_descriptor(kind, label, at, table, directory))
        put(table, _encode_path_table(directory, "<"))
        put(table + 1, _encode_path_table(directory, ">"))
        put(directory, _encode_directory(directory, spelled, extents))
    put(_FIRST_DESCRIPTOR + 2, bytes((_TERMINATOR,)) + b"CD001\x01")
    for name in names:
        put(extents[name][0], files[name])
    return bytes(image)


def _check(label: str, files: Mapping[str, bytes]) -> None:
    if not label.isascii() or len(label) > 16:
        raise ValueError(f"the label {label!r} must be at most 16 ASCII characters")
    for name in files:
        if not name or len(name) > _LONGEST_NAME or set(name) & set("*/:;?\\\0"):
            raise ValueError(f"the file name {name!r} cannot be written to an ISO image")
    if sum(2 * len(name) + 34 for name in files) + 68 > SECTOR:
        raise ValueError(f"{len(files)} files do not fit into one directory sector")


def _count_sectors(size: int) -> int:
    return -(-size // SECTOR)


def _encode_both16(value: int) -> bytes:
    return struct.pack("<H", value) + struct.pack(">H", value)


def _encode_both32(value: int) -> bytes:
    return struct.pack("<I", value) + struct.pack(">I", value)


def _record(identifier: bytes, extent: int, size: int, flags: int = 0) -> bytes:
    length = 33 + len(identifier)
    padding = length % 2
    return (
        bytes((length + padding, 0))
        + _encode_both32(extent)
        + _encode_both32(size)
        + _EPOCH
        + bytes((flags, 0, 0))
        + _encode_both16(1)
        + bytes((len(identifier),))
        + identifier
        + b"\0" * padding
    )


def _encode_directory(
    at: int, names: Mapping[str, bytes], extents: Mapping[str, tuple[int, int]]
) -> bytes:
    records = [_record(b"\0", at, SECTOR, _DIRECTORY), _record(b"\1", at, SECTOR, _DIRECTORY)]
    for name, identifier in sorted(names.items(), key=lambda item: item[1]):
        records.append(_record(identifier, *extents[name]))
    return b"".join(records)


def _encode_path_table(directory: int, order: str) -> bytes:
    return struct.pack(f"{order}BBIH", 1, 0, directory, 1) + b"\0\0"


def _encode_descriptor(kind: int, label: str, sectors: int, table: int, directory: int) -> bytes:
    is_joliet = kind == _JOLIET

    def blank(size: int) -> bytes:
        return (b"\0 " * size)[:size] if is_joliet else b" " * size

    def padded(value: str, size: int) -> bytes:
        data = value.encode("utf-16-be") if is_joliet else value.encode("ascii")
        return data + blank(size)[: size - len(data)]

    return b"".join(
        (
            bytes((kind,)) + b"CD001\x01\0",
            padded("LINUX", 32),
            padded(label, 32),
            b"\0" * 8,
            _encode_both32(sectors),
            (_UCS2_LEVEL_3 if is_joliet else b"").ljust(32, b"\0"),
            _encode_both16(1) + _encode_both16(1) + _encode_both16(SECTOR),
            _encode_both32(10),
            struct.pack("<II", table, 0),
            struct.pack(">II", table + 1, 0),
            _record(b"\0", directory, SECTOR, _DIRECTORY),
            blank(128) * 4,
            blank(37) * 3,
            _LONG_EPOCH * 2 + _NO_DATE * 2,
            b"\x01\0",
        )
    )
