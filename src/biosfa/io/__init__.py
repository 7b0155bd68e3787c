"""Samples from files, and model files."""

from biosfa.io._stream import Chunk, Position, Stream, open_stream

__all__ = ["Chunk", "Position", "Stream", "open_stream"]
