"""Table 2 has the paper's figures and ours."""

import json
from pathlib import Path

import pytest

from tests.helpers.commands import refuse, succeed
from trainer.paper.results import BASE, TABLE_2, TABLE_3, estimate_paper_flops
from trainer.paper.system_table import format_systems, read_our_rows

ROWS = {row.name: row for row in TABLE_2}


def test_the_transformer_is_the_best_of_all() -> None:
    big = ROWS["Transformer, big"]
    assert max(TABLE_2, key=lambda row: row.bleu_en_de or 0) == big
    assert max(TABLE_2, key=lambda row: row.bleu_en_fr or 0) == big
    assert min(TABLE_2, key=lambda row: row.flops_en_de or 1e99) == ROWS["Transformer, base"]


def test_operations_are_those_of_table_3_and_of_the_formula() -> None:
    big = TABLE_3[-1]
    for name, row in (("base", BASE), ("big", big)):
        assert ROWS[f"Transformer, {name}"].flops_en_de == row.train_flops
        assert row.train_hours and row.train_flops
        assert estimate_paper_flops(row.train_hours) == pytest.approx(row.train_flops, rel=0.02)


def test_our_results_follow_and_dashes_mark_what_is_not_run(tmp_path: Path) -> None:
    for name, bleu in {"base": 26.5, "base_en_fr": None, "big_en_fr": 40.25}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"bleu": bleu}))
    *_, base, big = format_systems(read_our_rows(str(tmp_path))).splitlines()
    assert base.split() == ["Beamformer,", "base", "26.50", "–", "–", "–"]
    assert big.split() == ["Beamformer,", "big", "–", "40.25", "–", "–"]


def test_the_command_prints_every_row() -> None:
    lines = succeed("trainer.table2").splitlines()
    assert len(lines) == 1 + len(TABLE_2) + 2
    assert lines[4].split() == ["ConvS2S", "25.16", "40.46", "9.6e+18", "1.5e+20"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "--results_dir=" in refuse("trainer.table2", f"--results_dir={tmp_path / 'x'}")
