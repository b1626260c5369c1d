"""Subword vocabularies (§5.1): learning BPE and WordPiece, encoding and decoding."""
