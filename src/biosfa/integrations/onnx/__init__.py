"""ONNX: models as graphs that other programs run without Python. Needs the extra ``onnx``."""

from biosfa.integrations.onnx._export import to_onnx

__all__ = ["to_onnx"]
