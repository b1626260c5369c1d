"""Benchmarks of what is learned: their rows, and how they score."""

import pytest
import sacrebleu

from tests.benchmarks import extrapolation, table3_small
from tests.benchmarks.extrapolation import Translated, score_by_length
from tests.benchmarks.table3_small import format_scores, small_rows
from trainer.paper.results import TABLE_3

ROWS = {row.name: row for row in small_rows()}
BASE = ROWS["base"].flags


def changes(name: str) -> dict[str, object]:
    flags = ROWS[name].flags
    return {field: value for field, value in flags.items() if BASE.get(field) != value}


def test_every_row_of_table_3_has_a_small_one_and_base_two() -> None:
    assert [row.paper for row in ROWS.values()] == [TABLE_3[0], *TABLE_3]
    assert (BASE["model_dim"], BASE["feed_forward_dim"], BASE["key_dim"]) == (128, 512, 16)
    assert (BASE["num_layers"], BASE["num_heads"], BASE["dropout"]) == (6, 8, 0.1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("base, seed 2", {"seed": 2}),
        ("a_heads_32", {"num_heads": 32, "key_dim": 4, "value_dim": 4}),
        ("b_key_dim_16", {"key_dim": 4}),
        ("c_layers_8", {"num_layers": 8}),
        ("c_model_dim_256", {"model_dim": 64, "key_dim": 8, "value_dim": 8}),
        ("d_label_smoothing_0.2", {"label_smoothing": 0.2}),
        ("e_learned_positions", {"positions": "learned"}),
        (
            "big",
            {"model_dim": 256, "feed_forward_dim": 1024, "num_heads": 16, "dropout": 0.3},
        ),
    ],
)
def test_a_small_row_changes_what_the_papers_row_changes(
    name: str, expected: dict[str, object]
) -> None:
    assert changes(name) == expected
    assert ROWS[name].updates == (3 if name == "big" else 1)


def test_scores_are_shown_beside_the_papers() -> None:
    scores = {"perplexity": 6.5, "accuracy": 0.625, "bleu": 35.5, "train_seconds": 600.0}
    (line,) = format_scores({"c_layers_2": scores}).splitlines()[1:]
    assert line.split() == ["C", "c_layers_2", "6.11", "23.7", "6.500", "62.5%", "35.50", "10"]


def test_translations_are_scored_by_the_length_of_the_source() -> None:
    texts = {8: "one two three four five", 9: "six seven eight nine", 33: "too long"}
    rows = [Translated(length, text, text) for length, text in texts.items()]
    rows.append(Translated(16, "six seven eight ten", "six seven eight nine ten"))
    first, second = score_by_length(rows)
    assert first == {"longest": 8, "sentences": 1, "bleu": pytest.approx(100), "ratio": 1.0}
    expected = sacrebleu.corpus_bleu(
        ["six seven eight nine", "six seven eight ten"],
        [["six seven eight nine", "six seven eight nine ten"]],
    )
    assert (second["longest"], second["sentences"]) == (16, 2)
    assert second["bleu"] == expected.score
    assert second["ratio"] == pytest.approx(8 / 9)


def test_bins_reach_twice_the_trained_length() -> None:
    assert extrapolation.BOUNDS[-1] == 2 * extrapolation.LONGEST
    assert extrapolation.LONGEST in extrapolation.BOUNDS
    learned = extrapolation.POSITIONS["learned, the last shared"]
    assert learned["max_positions"] == extrapolation.LONGEST
    assert table3_small.DIVISOR == 4
