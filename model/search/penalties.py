"""Length and coverage penalties: how finished hypotheses of different lengths compare.

score = log-probability / length penalty + coverage penalty       (Wu et al. 2016, §7)
"""

from keras import ops

from model import Tensor
from model.config import SearchConfig

# Lower bound of a source token's coverage, so that its logarithm is finite.
_LEAST_COVERAGE = 1e-6


def length_penalty(length: Tensor, config: SearchConfig) -> Tensor:
    """Length penalty, float32, that log-probabilities of `length` tokens are divided by.

    ((5 + length) / 6)^α (Wu et al. 2016, §7), or length^α; it never falls with length.
    """
    length = ops.cast(length, "float32")
    base = (5.0 + length) / 6.0 if config.length_penalty_form == "gnmt" else length
    return base**config.length_penalty


def coverage_penalty(coverage: Tensor, config: SearchConfig) -> Tensor:
    """Coverage penalty β Σ log min(coverage, 1) over the source, in nats (Wu et al. 2016, §7).

    At most 0; it can only rise as a translation grows.

    Args:
        coverage: float `[…, S]`, the attention that all target tokens paid to each source token;
            1 for padding.
        config: its `coverage_penalty` is β.
    """
    covered = ops.clip(coverage, _LEAST_COVERAGE, 1.0)
    return config.coverage_penalty * ops.sum(ops.log(covered), axis=-1)
