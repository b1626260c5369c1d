"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017, "§" throughout).

All that serving needs and nothing else: Keras and the standard library, on any Keras backend.
In the order of the paper: `embedding`, `positions` (§3.4, §3.5), `masks`, `attention` (§3.2),
`sublayers` (§3.3), `encoder`, `decoder` (§3.1), `transformer`, `search` (§6.1). `kernels` exists
for speed alone and can be skipped.

Shape letters, used in every docstring and comment of this package:

    B  batch: sentences            H  attention heads (h, §3.2.2)
    S  source length, tokens       K  size of one head (d_k or d_v, §3.2.2)
    T  target length, tokens       F  inner size of the feed-forward layer (d_ff, §3.3)
    D  model size (d_model, §3.1)  V  vocabulary, subwords
    W  beam width, hypotheses      E  entries of the decoder's cache (`model.search.state`)

Masks are boolean, True where attention is allowed, and broadcast to `[B, H, T, S]`
(`model.masks`). Token id 0 is padding and also the start symbol; id 1 ends a sentence.

`Tensor` is `Any`: a tensor is a `tf.Tensor`, a `jax.Array`, a NumPy array or a Keras variable,
by backend and caller, and Keras is not typed; docstrings give dtype and shape instead.
"""

from typing import Any

Tensor = Any
