import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from absl import flags

from model.config import SearchConfig, TransformerConfig
from pipeline import cli
from trainer.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[2]
FLAGFILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("configs/**/*.flags"))
Configs = tuple[TransformerConfig, TrainingConfig, SearchConfig]


def parse(flagfile: str, monkeypatch: pytest.MonkeyPatch) -> Configs:
    """Returns what a flagfile says to the flags of trainer.task."""
    monkeypatch.chdir(ROOT)
    values = flags.FlagValues()
    flags.DEFINE_multi_string("flagfile", [], "", flag_values=values)
    for config in (TrainingConfig, TransformerConfig, SearchConfig):
        cli.define_flags(config, values)
    cli.parse(["task", f"--flagfile={flagfile}"], values)
    return (
        cli.config_from_flags(TransformerConfig, values),
        cli.config_from_flags(TrainingConfig, values),
        cli.config_from_flags(SearchConfig, values),
    )


def test_there_are_flagfiles() -> None:
    names = {Path(flagfile).stem for flagfile in FLAGFILES}
    assert {"demo", "multi30k", "base", "big"} <= names


@pytest.mark.parametrize("flagfile", FLAGFILES)
def test_every_flagfile_is_accepted_by_trainer_task(flagfile: str, tmp_path: Path) -> None:
    """All its flags are known and valid: the first complaint is about the missing data."""
    command = [sys.executable, "-m", "trainer.task", f"--flagfile={flagfile}"]
    command.append(f"--dataset_dir={tmp_path}/none")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: no dataset at {tmp_path}/none")
    assert "pipeline.preprocess" in done.stderr


@pytest.mark.parametrize("flagfile", FLAGFILES)
def test_a_flagfile_writes_to_a_directory_of_its_own(
    flagfile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, training, _ = parse(flagfile, monkeypatch)
    assert Path(training.run_dir).name == Path(flagfile).stem


def test_base_is_the_paper_s_base_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 3, row "base"; §5 for training; §6.1 for averaging and search."""
    model, training, search = parse("configs/base.flags", monkeypatch)
    assert (model.num_layers, model.model_dim, model.feed_forward_dim) == (6, 512, 2048)
    assert (model.num_heads, model.key_dim, model.value_dim) == (8, 64, 64)
    assert (model.dropout, model.norm, model.positions) == (0.1, "post", "sinusoidal")
    assert (training.train_steps, training.tokens_per_batch) == (100_000, 25_000)
    assert (training.warmup_steps, training.learning_rate_scale) == (4_000, 1.0)
    assert (training.adam_beta_1, training.adam_beta_2) == (0.9, 0.98)
    assert (training.adam_epsilon, training.label_smoothing) == (1e-9, 0.1)
    assert (training.checkpoint_every_minutes, training.average_checkpoints) == (10.0, 5)
    assert search == SearchConfig(beam_size=4, length_penalty=0.6, extra_length=50)


def test_big_is_the_paper_s_big_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 3, row "big"; what it does not list is as in base."""
    base_model, base_training, base_search = parse("configs/base.flags", monkeypatch)
    model, training, search = parse("configs/big.flags", monkeypatch)
    assert model == dataclasses.replace(
        base_model,
        model_dim=1024,
        feed_forward_dim=4096,
        num_heads=16,
        dropout=0.3,
    )
    assert (model.key_dim, model.value_dim) == (64, 64)
    assert training == dataclasses.replace(
        base_training,
        run_dir=training.run_dir,
        train_steps=300_000,
        keep_checkpoints=20,
        average_checkpoints=20,
    )
    assert search == base_search


def test_the_defaults_are_the_base_model(monkeypatch: pytest.MonkeyPatch) -> None:
    base = parse("configs/base.flags", monkeypatch)
    assert base == (TransformerConfig(), TrainingConfig(), SearchConfig())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train_steps": 0}, "train_steps must be at least 1; received 0"),
        ({"tokens_per_batch": 0}, "tokens_per_batch must be at least 1; received 0"),
        ({"warmup_steps": 0}, "warmup_steps must be at least 1; received 0"),
        ({"log_every_steps": 0}, "log_every_steps must be at least 1; received 0"),
        ({"learning_rate_scale": 0.0}, "learning_rate_scale must be above 0; received 0.0"),
        ({"adam_epsilon": 0.0}, "adam_epsilon must be above 0; received 0.0"),
        ({"adam_beta_1": 1.0}, "adam_beta_1 must be at least 0 and below 1; received 1.0"),
        ({"adam_beta_2": -0.1}, "adam_beta_2 must be at least 0 and below 1; received -0.1"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1; received 1"),
        ({"label_smoothing_over": "none"}, "label_smoothing_over must be 'all' or 'wrong'; .*none"),
        ({"checkpoint_every_steps": -1}, "checkpoint_every_steps must be at least 0; received -1"),
        ({"checkpoint_every_minutes": -1}, "checkpoint_every_minutes must be at least 0; recei"),
        ({"eval_every_steps": -1}, "eval_every_steps must be at least 0; received -1"),
        ({"eval_sentences": -1}, "eval_sentences must be at least 0; received -1"),
        ({"average_checkpoints": 0}, r"must be 1 to keep_checkpoints \(5\); received 0"),
        ({"average_checkpoints": 6}, r"must be 1 to keep_checkpoints \(5\); received 6"),
    ],
)
def test_a_value_out_of_range_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"label_smoothing": 0.0, "adam_beta_1": 0.0},
        {"checkpoint_every_steps": 0, "checkpoint_every_minutes": 0.5, "eval_sentences": 0},
        {"average_checkpoints": 5, "keep_checkpoints": 5},
        {"train_steps": 1, "tokens_per_batch": 1, "warmup_steps": 1, "log_every_steps": 1},
    ],
)
def test_the_ends_of_the_ranges_are_accepted(values: dict[str, Any]) -> None:
    TrainingConfig(**values)
