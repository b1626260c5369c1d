"""Sizes of vocabularies: the smallest possible one, and the one that suits a corpus.

Subwords that occur too rarely are not learned well, so the best size grows with the corpus (Gowda
& May 2020, "Finding the Optimal Vocabulary Size for Neural Machine Translation"): they recommend
the largest vocabulary in which at least 95 % of the subwords have 100 or more training examples.
"""

RESERVED = 256 + 3  # BPE: byte pieces and the three special ids
# What is reserved, the mark of a word, and a character; of wordpieces, also a whole word.
LEAST = {"bpe": RESERVED + 2, "wordpiece": 3 + 3}
LARGEST = {"bpe": 37_000, "wordpiece": 32_000}  # §5.1: EN-DE and EN-FR

# Training pairs from which on a size is chosen. From the paper's for WMT14 (4.5 million pairs) to
# 2,000 for 5,000 pairs (Sennrich & Zhang 2019, "Revisiting Low-Resource Neural Machine
# Translation").
_BY_PAIRS = (
    (1_000_000, max(LARGEST.values())),
    (200_000, 16_000),
    (20_000, 8_000),
    (8_000, 4_000),
    (2_000, 2_000),
    (0, 1_000),
)
SMALLEST_CHOICE = _BY_PAIRS[-1][1]


def choose_vocabulary_size(kind: str, pairs: int, characters: int) -> int:
    """Returns the vocabulary size that suits a corpus.

    Example: 8,000 for the 29,000 pairs of Multi30k, 37,000 BPE for the 4.5 million of WMT14
    English–German, 10,259 for 20,000 pairs with 5,000 different (Chinese) characters.

    Args:
        kind: "bpe" or "wordpiece".
        pairs: training pairs.
        characters: different characters; the vocabulary has room for as many merges.
    """
    size = next(size for least_pairs, size in _BY_PAIRS if pairs >= least_pairs)
    return max(min(size, LARGEST[kind]), RESERVED + 2 * characters)
