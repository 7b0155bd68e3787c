"""The modules of biosfa.integrations are collected where the library that they are for is installed."""

from importlib.util import find_spec
from pathlib import Path

ADAPTERS = (Path(__file__).parent / "src" / "biosfa" / "integrations").glob("[a-z]*.py")
collect_ignore = [str(file) for file in ADAPTERS if find_spec(file.stem) is None]
