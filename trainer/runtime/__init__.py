"""Processes and devices: starting TensorFlow, strategies, error messages."""
