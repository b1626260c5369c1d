"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017, "§" throughout).

All that serving needs and nothing else: Keras and the standard library, on any Keras backend.

Shape letters, used in every docstring and comment of this package:

    B  batch: sentences            H  attention heads (h, §3.2.2)
    S  source length, tokens       K  size of one head (d_k or d_v, §3.2.2)
    T  target length, tokens       F  inner size of the feed-forward layer (d_ff, §3.3)
    D  model size (d_model, §3.1)  V  vocabulary, subwords
    W  beam width, hypotheses

Masks are boolean, True where attention may look, and broadcast to `[B, H, T, S]` (`model.masks`).
Token id 0 is padding and, in front of the target, the start symbol (`model.decoder`).
"""
