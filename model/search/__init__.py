"""Beam search and sampling (§6.1); `search` tells the algorithm and where its parts are."""
