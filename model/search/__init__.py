"""Decoding: beam search and sampling over a step function (§6.1)."""
