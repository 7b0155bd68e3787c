"""Samples from files, and model files."""

from biosfa.io._stream import Chunk, Position, Stream, StreamOptions, open_stream

__all__ = ["Chunk", "Position", "Stream", "StreamOptions", "open_stream"]
