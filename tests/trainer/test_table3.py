"""The paper's Table 3 beside our flagfiles and models."""

import re
from pathlib import Path
from typing import Any

import pytest

from model.config import TransformerConfig
from model.transformer import Transformer
from tests.helpers.commands import refuse, succeed
from tests.helpers.experiments import differences
from trainer.paper.flagfiles import read_flagfiles
from trainer.paper.parameter_counts import Comparison, compare, count_parameters, format_comparisons
from trainer.paper.results import BASE, TABLE_3, PaperRow, estimate_paper_flops

ROOT = Path(__file__).resolve().parents[2]

# What each row changes of base, as the paper prints it: d_k and d_v in full.
CHANGES: dict[str, dict[str, Any]] = {
    "a_heads_1": {"num_heads": 1, "key_dim": 512, "value_dim": 512},
    "a_heads_4": {"num_heads": 4, "key_dim": 128, "value_dim": 128},
    "a_heads_16": {"num_heads": 16, "key_dim": 32, "value_dim": 32},
    "a_heads_32": {"num_heads": 32, "key_dim": 16, "value_dim": 16},
    "b_key_dim_16": {"key_dim": 16},
    "b_key_dim_32": {"key_dim": 32},
    "c_layers_2": {"num_layers": 2},
    "c_layers_4": {"num_layers": 4},
    "c_layers_8": {"num_layers": 8},
    "c_model_dim_256": {"model_dim": 256, "key_dim": 32, "value_dim": 32},
    "c_model_dim_1024": {"model_dim": 1024, "key_dim": 128, "value_dim": 128},
    "c_feed_forward_dim_1024": {"feed_forward_dim": 1024},
    "c_feed_forward_dim_4096": {"feed_forward_dim": 4096},
    "d_dropout_0.0": {"dropout": 0.0},
    "d_dropout_0.2": {"dropout": 0.2},
    "d_label_smoothing_0.0": {"label_smoothing": 0.0},
    "d_label_smoothing_0.2": {"label_smoothing": 0.2},
    "e_learned_positions": {"positions": "learned"},
}
# Millions of parameters, as the paper prints them.
LISTED = {
    "base": 65,
    "b_key_dim_16": 58,
    "b_key_dim_32": 60,
    "c_layers_2": 36,
    "c_layers_4": 50,
    "c_layers_8": 80,
    "c_model_dim_256": 28,
    "c_model_dim_1024": 168,
    "c_feed_forward_dim_1024": 53,
    "c_feed_forward_dim_4096": 90,
    "big": 213,
}


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def name(row: PaperRow) -> str:
    return Path(row.flagfile).stem


def architecture(row: PaperRow) -> TransformerConfig:
    return read_flagfiles(row.flagfile).transformer


@pytest.fixture(scope="module")
def with_37000_subwords() -> dict[str, Comparison]:
    """The rows whose parameters the paper lists."""
    with pytest.MonkeyPatch.context() as context:
        context.chdir(ROOT)
        configs = {row: architecture(row) for row in TABLE_3 if row.parameters}
    return {name(each.row): each for each in compare(configs, vocabulary_size=37_000)}


def test_every_flagfile_of_the_table_is_one_of_its_rows() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("configs/table3/*.flags")}
    assert {row.flagfile for row in TABLE_3} == {"configs/base.flags", "configs/big.flags", *files}
    assert {Path(file).stem for file in files} == {*CHANGES}


@pytest.mark.parametrize("flagfile", CHANGES)
def test_a_row_changes_what_the_paper_changes_and_nothing_else(flagfile: str) -> None:
    base = read_flagfiles(BASE.flagfile)
    row = read_flagfiles(f"configs/table3/{flagfile}.flags")
    assert differences(base, row) == {**CHANGES[flagfile], "run_dir": f"runs/table3/{flagfile}"}


@pytest.mark.parametrize("row", TABLE_3, ids=name)
def test_a_flagfile_promises_what_the_table_says(row: PaperRow) -> None:
    header = " ".join(Path(row.flagfile).read_text(encoding="utf-8").split("\n# "))
    promised = re.findall(r"newstest2013 perplexity (\d+\.\d+) and BLEU (\d+\.\d+)", header)
    assert promised == [(f"{row.perplexity:.2f}", f"{row.bleu:.1f}")]
    assert f"Table 3, row {row.group}" in header.replace('"', "")


def test_the_listed_counts_are_the_papers() -> None:
    assert {name(row): row.parameters for row in TABLE_3 if row.parameters} == LISTED


def test_counts_are_within_5_percent_save_that_of_two_layers(
    with_37000_subwords: dict[str, Comparison],
) -> None:
    """37,000 rows of 512 and 2 + 2 layers of 14.7 million are 33.6 million, not the paper's 36."""
    off = {
        key: comparison.parameters / LISTED[key] - 1
        for key, comparison in with_37000_subwords.items()
    }
    assert [key for key, value in off.items() if abs(value) > 0.05] == ["c_layers_2"]
    assert off["c_layers_2"] == pytest.approx(-0.065, abs=0.001)


def test_differences_from_base_are_within_0_7_million(
    with_37000_subwords: dict[str, Comparison],
) -> None:
    compared = {
        key: comparison.from_base
        for key, comparison in with_37000_subwords.items()
        if comparison.from_base
    }
    assert {*compared} == {*LISTED} - {"base", "big", "c_model_dim_256", "c_model_dim_1024"}
    for key, (theirs, ours) in compared.items():
        assert theirs == LISTED[key] - 65
        assert abs(ours - theirs) < 0.7, key


def test_with_41100_subwords_all_counts_but_bigs_are_the_papers(
    with_37000_subwords: dict[str, Comparison],
) -> None:
    """So what is off with "about 37000" is the size of the vocabulary, and no layer."""
    rounded = {
        key: round(comparison.parameters + 4_100 * architecture(comparison.row).model_dim / 1e6)
        for key, comparison in with_37000_subwords.items()
    }
    assert {key for key, value in rounded.items() if value != LISTED[key]} == {"big"}


def test_counting_gives_the_number_of_weights_of_the_model_itself() -> None:
    config = TransformerConfig(num_layers=1, model_dim=32, positions="learned", norm="pre")
    model = Transformer(config, 11)
    assert count_parameters(config, 11) == sum(v.numpy().size for v in model.trainable_variables)


def test_flops_are_time_times_gpus_times_what_a_p100_does() -> None:
    """§6.1, footnote 5: 9.5 TFLOPS; §5.2: 8 of them for 12 hours, and for 3.5 days."""
    assert estimate_paper_flops(1) == pytest.approx(60 * 60 * 8 * 9.5e12)
    listed = {name(row): (row.train_hours, row.train_flops) for row in TABLE_3 if row.train_hours}
    assert listed == {"base": (12, 3.3e18), "big": (3.5 * 24, 2.3e19)}
    for hours, flops in listed.values():
        assert f"{estimate_paper_flops(hours or 0):.1e}" == f"{flops:.1e}"


def test_the_table_has_a_dash_where_the_paper_says_nothing() -> None:
    variation = PaperRow("B", "b.flags", 5.16, 25.1, parameters=50)
    told = format_comparisons(
        [
            Comparison(PaperRow("big", "big.flags", 4.3, 26.4, 200, 84, 2.3e19), 210.0, None),
            Comparison(variation, 49.0, (-15, -14.7)),
            Comparison(PaperRow("E", "e.flags", 4.92, 25.7), 63.57, None),
        ]
    ).splitlines()
    assert len({len(line) for line in told}) == 1
    assert [line.split() for line in told[1:]] == [
        [
            "big",
            "big.flags",
            "4.30",
            "26.4",
            "200",
            "210.00",
            "+5.0%",
            "–",
            "–",
            "2.3e+19",
            "2.30e+19",
        ],
        ["B", "b.flags", "5.16", "25.1", "50", "49.00", "-2.0%", "-15", "-14.70", "–", "–"],
        ["E", "e.flags", "4.92", "25.7", "–", "63.57", "–", "–", "–", "–", "–"],
    ]


def test_the_command_prints_every_row() -> None:
    lines = succeed("trainer.table3", "--vocabulary_size=1000").splitlines()
    assert [line.split()[1] for line in lines[1:]] == [row.flagfile for row in TABLE_3]
    base = lines[1].split()
    assert (base[4], base[5]) == ("65", "44.61")  # 44.1 million in layers, 1,000 · 512 beside


def test_a_vocabulary_without_subwords_is_refused() -> None:
    line = refuse("trainer.table3", "--vocabulary_size=0")
    assert "received --vocabulary_size=0: expected at least 1" in line
