"""Batches and sentences read from a dataset directory."""
