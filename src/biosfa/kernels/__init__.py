"""The numeric core: functions on arrays, compiled where that pays. No validation."""
