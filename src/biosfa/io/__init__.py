"""Streams of samples from files, and model files."""

from biosfa.io._chunk import Chunk, Position
from biosfa.io._reading import Reading
from biosfa.io._stream import Stream, StreamOptions, open_stream

__all__ = ["Chunk", "Position", "Reading", "Stream", "StreamOptions", "open_stream"]
