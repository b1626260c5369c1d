"""Test sets and their scores: BLEU, chrF, TER, perplexity."""
