"""Samples from files, and model files."""

from biosfa.io._stream import Chunk, Stream, open_stream

__all__ = ["Chunk", "Stream", "open_stream"]
