"""What exists only while a model learns or is measured, and the four entry points."""
