"""Backups whose manifest somebody has forged, checksum included."""

import hashlib
import tempfile
from contextlib import suppress
from pathlib import Path

from errors import WeirError
from storage.backup import archive

WORDS = (b"../", b"/etc/passwd", b'"path":', b'"members":', b"[]", b"{}", b"null", b"-1", b'"format":', b"\\u0000")


def feed(data: bytes) -> None:
    """It is refused, or names nothing outside of itself."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / archive.MANIFEST).write_bytes(data)
        (root / archive.CHECKSUM).write_text(f"{hashlib.sha256(data).hexdigest()}  {archive.MANIFEST}\n")
        with suppress(WeirError):
            manifest = archive.read(root)
            assert all((root / each.path).resolve().is_relative_to(root.resolve()) for each in manifest.members)
            archive.verify(root, manifest)
