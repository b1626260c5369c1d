"""Which pairs to train on: normalisation, filter rules, deduplication."""
