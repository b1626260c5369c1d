"""How finished hypotheses of different lengths compare: length and coverage penalties.

score = log-probability / length penalty + coverage penalty       (Wu et al. 2016, §7)
"""

from keras import ops

from model import Tensor
from model.config import SearchConfig

# Attention below this, of a source token, is counted as this: its logarithm stays finite.
_LEAST_COVERAGE = 1e-6


def length_penalty(length: Tensor, config: SearchConfig) -> Tensor:
    """Returns what a sum of log-probabilities is divided by, float32, for lengths in tokens.

    It never falls with length: ((5 + length) / 6)^α (Wu et al. 2016, §7), or length^α.
    """
    length = ops.cast(length, "float32")
    base = (5.0 + length) / 6.0 if config.length_penalty_form == "gnmt" else length
    return base**config.length_penalty


def coverage_penalty(coverage: Tensor, config: SearchConfig) -> Tensor:
    """Returns β Σ log min(attention, 1) over the source, in nats (Wu et al. 2016, §7).

    It is at most 0, and only rises as a translation grows.

    Args:
        coverage: float `[…, S]`, the attention that each source token got from all target tokens;
            1 for padding.
        config: holds β.
    """
    covered = ops.clip(coverage, _LEAST_COVERAGE, 1.0)
    return config.coverage_penalty * ops.sum(ops.log(covered), axis=-1)
