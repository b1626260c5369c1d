"""Which pairs to train on: normalization, filter rules, deduplication."""
