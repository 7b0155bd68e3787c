"""Writing a file so that a crash at any moment leaves either the old one or the new one, whole."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

LITTER = ".*.tmp-biosfa"  # names of files that are being written, or were when their process was killed


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let ``write`` fill a file of another name, sync it, and rename it to ``path``."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp-biosfa")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
