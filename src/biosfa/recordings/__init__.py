"""What the command does with people's own recordings: fit with checkpoints, transform, inspect, plot, stream."""
