"""Translating and scoring sentences with a trained model."""
