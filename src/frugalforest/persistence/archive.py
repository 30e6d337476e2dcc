"""The file itself: a zip archive of three entries in a fixed order, under one checksum.

format.json   what this is, the version of the format, and the checksum
model.json    the model, with a table of its arrays
arrays.bin    the bytes of the arrays

Any zip tool can look inside. Reading does not go through a zip library: the three entries are inflated one after the
other, in small steps and up to a limit, and no size that a header claims is believed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from frugalforest.persistence.errors import ModelFileError, damaged, not_ours

FORMAT = "frugalforest model"
VERSION = 1
NAMES = ("format.json", "model.json", "arrays.bin")

_STEP = 2**18  # bytes read or inflated at once
_MAX_FORMAT_BYTES = 2**10
_MAX_DIRECTORY_BYTES = 2**10  # what follows the entries: three names and sizes need 270
# Deflate packs 1000 : 1 at best, and models 3 : 1 to 30 : 1: with these limits a small file never takes much memory.
# JSON has its own, since Python's lists take up to twenty times the memory of the text they are read from.
_MAX_MODEL_BYTES, _MODEL_ROOM, _MODEL_RATIO = 2**32, 2**26, 200
_JSON_ROOM, _JSON_RATIO = 2**22, 40

# Signature, version, flags, method, time, date, crc, two sizes, length of the name and of what comes after it.
_HEADER = struct.Struct("<4s5H3I2H")
_END = struct.Struct("<4s8xI4xH")  # signature, size of the directory, length of a comment
_LARGE_ARCHIVE_BYTES = 76  # what stands before the end of an archive of more than 2 GB
_DEFLATED = 8


@dataclass(frozen=True, eq=False)
class Contents:
    """What a model file holds: JSON, and the bytes that its arrays are views of."""

    model: bytes
    arrays: Sequence[memoryview]  # one behind the other
    version: int = VERSION
    room: float = math.inf  # bytes that all arrays may have together, also where they share some

    def checksum(self) -> str:
        """SHA-256 over the version and the names, sizes and bytes of the entries, in hexadecimal."""
        digest = hashlib.sha256(f"{FORMAT} {self.version}\n".encode())
        for name, parts in self.entries():
            digest.update(f"{name} {sum(len(part) for part in parts)}\n".encode())
            for part in parts:
                digest.update(part)
        return digest.hexdigest()

    def joined_arrays(self) -> memoryview:
        """The bytes of all arrays in one piece; without a copy if they are in one already."""
        return self.arrays[0] if len(self.arrays) == 1 else memoryview(b"".join(self.arrays))

    def entries(self) -> list[tuple[str, Sequence[memoryview]]]:
        """Name and bytes of the entries that the checksum covers."""
        return [(NAMES[1], [memoryview(self.model)]), (NAMES[2], self.arrays)]


# ---- writing


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place to write to, which takes the place of `path` if all goes well, and else is removed again."""
    target = Path(os.path.realpath(path))  # what a link leads to is replaced, not the link
    exists = target.exists()
    if exists and not target.is_file():
        raise IsADirectoryError(f"{path} is a folder or a device; give the name of a file.")
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} may not be written; remove it, or give another name.")
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        yield draft
        if exists:
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    finally:  # also after Ctrl-C
        draft.unlink(missing_ok=True)


def write_archive(path: Path, contents: Contents) -> None:
    """Write a model file. The same contents give the same bytes (with the same zlib)."""
    head = {"format": FORMAT, "sha256": contents.checksum(), "version": contents.version}
    with path.open("xb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            _write_entry(archive, NAMES[0], [memoryview(json.dumps(head, sort_keys=True).encode())])
            for name, parts in contents.entries():
                _write_entry(archive, name, parts)
        file.flush()
        os.fsync(file.fileno())  # else a crash of the machine could leave an empty file under the new name


def _write_entry(archive: zipfile.ZipFile, name: str, parts: Iterable[memoryview]) -> None:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system, info.external_attr = 3, 0o644 << 16  # the same on every system
    with archive.open(info, "w", force_zip64=name == NAMES[2]) as entry:
        for part in parts:
            entry.write(part)


# ---- reading


def read_archive(path: Path, max_bytes: float | None = None) -> Contents:
    """Read a model file -> its contents, which are what the checksum says.

    max_bytes: what the model may take when unpacked; None: 200 times the file and 64 MB, but not more than 4 GB.
    """
    with _open_file(path) as file:
        max_json_bytes, max_bytes = _limits(os.fstat(file.fileno()).st_size, max_bytes)
        version, checksum = _read_format(_read_entry(file, NAMES[0], _MAX_FORMAT_BYTES))
        model = _read_entry(file, NAMES[1], max_json_bytes)
        arrays = _read_entry(file, NAMES[2], max_bytes - len(model))
        _check_directory(file.read(_MAX_DIRECTORY_BYTES + 1))
    contents = Contents(bytes(model), [memoryview(arrays).toreadonly()], version, max_bytes - len(model))
    if contents.checksum() != checksum:
        raise damaged("its checksum does not fit its contents")
    return contents


def _limits(file_size: int, max_bytes: float | None) -> tuple[float, float]:
    """How many bytes model.json, and all of the model, may have when unpacked."""
    if max_bytes is not None:
        return max_bytes, max_bytes
    room = min(_MAX_MODEL_BYTES, _MODEL_ROOM + _MODEL_RATIO * file_size)
    return min(room, _JSON_ROOM + _JSON_RATIO * file_size), room


def _open_file(path: Path) -> BinaryIO:
    """Open for reading; anything but a file could wait for ever, or never end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ModelFileError("it is a folder.")
    if not stat.S_ISREG(mode):
        raise ModelFileError("it is a device or a pipe; copy the model into a file first.")
    return path.open("rb")


def _read_format(text: bytearray) -> tuple[int, str]:
    """Check format.json -> version, checksum."""
    try:
        head: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise not_ours() from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise not_ours()
    version = head.get("version")
    if not isinstance(version, int) or version < 1:
        raise damaged("the version of its format is not a number")
    if version > VERSION:
        raise ModelFileError(
            f"a newer frugalforest wrote it: its format has version {version}, this one reads up to {VERSION}. "
            "Update frugalforest."
        )
    return version, str(head.get("sha256"))


def _read_entry(file: BinaryIO, name: str, max_bytes: float) -> bytearray:
    """The next entry, which must have this name and be packed as `write_archive` does it."""
    header = file.read(_HEADER.size)
    fault = not_ours() if name == NAMES[0] else damaged(f"{name} is not where it should be")
    if len(header) < _HEADER.size:
        raise fault
    signature, _, flags, method, *_, name_length, extra_length = _HEADER.unpack(header)
    encoded = name.encode()
    if signature != b"PK\3\4" or name_length != len(encoded) or file.read(name_length) != encoded:
        raise fault
    if flags != 0 or method != _DEFLATED:
        raise damaged(f"{name} is encrypted, or packed in another way than by model.save")
    file.seek(extra_length, os.SEEK_CUR)
    return _inflate(file, name, max_bytes)


def _inflate(file: BinaryIO, name: str, max_bytes: float) -> bytearray:
    """Unpack what follows, at most so many bytes; the file is then read to the end of it, and no further."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    unpacked = bytearray()
    while not unpacker.eof:
        packed = unpacker.unconsumed_tail or file.read(_STEP)
        if not packed:
            raise damaged(f"it ends within {name}")
        try:
            unpacked += unpacker.decompress(packed, _STEP)
        except zlib.error as error:
            raise damaged(f"{name} cannot be unpacked ({error})") from None
        if len(unpacked) > max_bytes:
            raise ModelFileError(
                f"{name} has more than {max_bytes:,.0f} bytes when unpacked, which is unusual for a file of this size. "
                "If you trust it, give load a larger max_bytes."
            )
    file.seek(-len(unpacker.unused_data), os.SEEK_CUR)
    return unpacked


def _check_directory(rest: bytes) -> None:
    """After the entries comes the list of them that other tools go by; a file that was cut off has none."""
    end = rest[-_END.size :]
    if len(rest) > _MAX_DIRECTORY_BYTES or len(end) < _END.size or not rest.startswith(b"PK\1\2"):
        raise damaged("it has no proper end")
    signature, size, comment_length = _END.unpack(end)
    length = size + _END.size
    if signature != b"PK\5\6" or comment_length or len(rest) not in (length, length + _LARGE_ARCHIVE_BYTES):
        raise damaged("it has no proper end")
