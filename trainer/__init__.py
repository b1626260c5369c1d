"""Training, evaluation and export: what exists only while a model is trained or measured."""
