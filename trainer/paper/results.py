"""Results reported in the paper, to compare with ours (Tables 2 and 3, §6.1, §6.2)."""

from typing import NamedTuple


class PaperRow(NamedTuple):
    """A row of Table 3, with values of Table 2; None where the paper gives none.

    group: the paper's letter of the row, or "base" or "big".
    flagfile: our flagfile of the same experiment.
    perplexity: on newstest2013, per subword.
    bleu: on newstest2013.
    parameters: millions.
    train_hours: on 8 P100 GPUs (§5.2).
    train_flops: floating-point operations of the whole training (Table 2).
    """

    group: str
    flagfile: str
    perplexity: float
    bleu: float
    parameters: int | None = None
    train_hours: float | None = None
    train_flops: float | None = None


def _variation(
    group: str, name: str, perplexity: float, bleu: float, parameters: int | None = None
) -> PaperRow:
    return PaperRow(group, f"configs/table3/{name}.flags", perplexity, bleu, parameters)


BASE = PaperRow("base", "configs/base.flags", 4.92, 25.8, 65, 12, 3.3e18)

TABLE_3 = (
    BASE,
    _variation("A", "a_heads_1", 5.29, 24.9),
    _variation("A", "a_heads_4", 5.00, 25.5),
    _variation("A", "a_heads_16", 4.91, 25.8),
    _variation("A", "a_heads_32", 5.01, 25.4),
    _variation("B", "b_key_dim_16", 5.16, 25.1, 58),
    _variation("B", "b_key_dim_32", 5.01, 25.4, 60),
    _variation("C", "c_layers_2", 6.11, 23.7, 36),
    _variation("C", "c_layers_4", 5.19, 25.3, 50),
    _variation("C", "c_layers_8", 4.88, 25.5, 80),
    _variation("C", "c_model_dim_256", 5.75, 24.5, 28),
    _variation("C", "c_model_dim_1024", 4.66, 26.0, 168),
    _variation("C", "c_feed_forward_dim_1024", 5.12, 25.4, 53),
    _variation("C", "c_feed_forward_dim_4096", 4.75, 26.2, 90),
    _variation("D", "d_dropout_0.0", 5.77, 24.6),
    _variation("D", "d_dropout_0.2", 4.95, 25.5),
    _variation("D", "d_label_smoothing_0.0", 4.67, 25.3),
    _variation("D", "d_label_smoothing_0.2", 5.47, 25.7),
    _variation("E", "e_learned_positions", 4.92, 25.7),
    PaperRow("big", "configs/big.flags", 4.33, 26.4, 213, 84, 2.3e19),
)


class SystemRow(NamedTuple):
    """A row of Table 2: BLEU on newstest2014 and training operations; None where there is none.

    name: of the system.
    bleu_en_de, bleu_en_fr: the paper's tokenised BLEU.
    flops_en_de, flops_en_fr: floating-point operations of the whole training.
    """

    name: str
    bleu_en_de: float | None = None
    bleu_en_fr: float | None = None
    flops_en_de: float | None = None
    flops_en_fr: float | None = None


TABLE_2 = (
    SystemRow("ByteNet", 23.75),
    SystemRow("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    SystemRow("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    SystemRow("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    SystemRow("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    SystemRow("Deep-Att + PosUnk, ensemble", None, 40.4, None, 8.0e20),
    SystemRow("GNMT + RL, ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    SystemRow("ConvS2S, ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    SystemRow("Transformer, base", 27.3, 38.1, 3.3e18),
    SystemRow("Transformer, big", 28.4, 41.8, 2.3e19),
)

_GPUS = 8
_P100_FLOPS_PER_SECOND = 9.5e12


def estimate_paper_flops(hours: float) -> float:
    """Estimates the operations of a whole training as the paper does (§6.1).

    Time · number of GPUs · sustained single-precision speed of one: 8 P100 at 9.5 TFLOP/s. 12 hours
    are 3.3e18 operations.

    Args:
        hours: training time on the paper's machine.
    """
    return hours * 3600 * _GPUS * _P100_FLOPS_PER_SECOND
