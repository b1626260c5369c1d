"""The run directory: configuration, checkpoints, metrics."""
