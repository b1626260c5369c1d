"""What exists for speed alone; a reader of the paper may skip it."""
