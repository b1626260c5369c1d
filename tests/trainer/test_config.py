import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from model.config import SearchConfig, TransformerConfig
from pipeline.common.errors import UserError
from tests.helpers.experiments import differences
from trainer.config import TrainingConfig
from trainer.paper.flagfiles import Experiment, read_flagfiles

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
RECIPES = ["configs/recipes/paper.flags", "configs/recipes/t2t.flags"]  # to put after another
FLAGFILES = sorted(
    {path.relative_to(ROOT).as_posix() for path in CONFIGS.rglob("*.flags")} - {*RECIPES}
)


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flagfiles that others include are found from there."""
    monkeypatch.chdir(ROOT)


def test_there_are_flagfiles() -> None:
    names = {Path(flagfile).stem for flagfile in FLAGFILES}
    assert {"demo", "multi30k", "base", "big", "base_en_fr", "big_en_fr"} <= names


@pytest.mark.parametrize("flagfile", ["configs/demo.flags", "configs/table3/c_layers_2.flags"])
def test_a_flagfile_is_accepted_by_trainer_task(flagfile: str, tmp_path: Path) -> None:
    """All its flags are known and valid: the first complaint is about the missing data."""
    command = [sys.executable, "-m", "trainer.task", f"--flagfile={flagfile}"]
    command.append(f"--dataset_dir={tmp_path}/none")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: no dataset at {tmp_path}/none")
    assert "pipeline.preprocess" in done.stderr


def test_a_missing_flagfile_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none.flags"):
        read_flagfiles(f"{tmp_path}/none.flags")


@pytest.mark.parametrize("flagfile", FLAGFILES)
def test_all_flags_of_a_flagfile_are_known_and_valid(flagfile: str) -> None:
    assert read_flagfiles(flagfile).training.run_dir


@pytest.mark.parametrize("flagfile", FLAGFILES)
def test_every_flagfile_has_its_own_run_directory(flagfile: str) -> None:
    place = Path(flagfile).relative_to("configs").with_suffix("")
    assert Path(read_flagfiles(flagfile).training.run_dir) == Path("runs") / place


@pytest.mark.parametrize("flagfile", FLAGFILES)
def test_the_header_of_a_flagfile_gives_its_command(flagfile: str) -> None:
    header = Path(flagfile).read_text(encoding="utf-8").partition("\n--")[0]
    assert f"python -m trainer.task --flagfile={flagfile}" in header


def test_base_is_the_papers_base_model() -> None:
    """Table 3, row "base"; §5 for training; §6.1 for averaging and search."""
    model, training, search = read_flagfiles("configs/base.flags")
    assert (model.num_layers, model.model_dim, model.feed_forward_dim) == (6, 512, 2048)
    assert (model.num_heads, model.key_dim, model.value_dim) == (8, 64, 64)
    assert (model.dropout, model.norm, model.positions) == (0.1, "post", "sinusoidal")
    assert (training.train_steps, training.tokens_per_batch) == (100_000, 25_000)
    assert (training.warmup_steps, training.learning_rate_scale) == (4_000, 1.0)
    assert (training.adam_beta_1, training.adam_beta_2) == (0.9, 0.98)
    assert (training.adam_epsilon, training.label_smoothing) == (1e-9, 0.1)
    # 10 minutes of 12 hours for all updates; the average spans the last 7 % of them.
    assert training.checkpoint_every_steps == pytest.approx(100_000 * 10 / (12 * 60), rel=0.01)
    assert training.average_checkpoints == 5
    assert search == SearchConfig(beam_size=4, length_penalty=0.6, extra_length=50)


def test_big_is_the_papers_big_model() -> None:
    """Table 3, row "big"; everything that it does not list is as in base."""
    base_model, base_training, base_search = read_flagfiles("configs/base.flags")
    model, training, search = read_flagfiles("configs/big.flags")
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
        checkpoint_every_steps=600,
        keep_checkpoints=20,
        average_checkpoints=20,
    )
    assert search == base_search


def test_big_saves_every_ten_minutes_of_the_paper() -> None:
    """§5.2: 3.5 days for all updates; §6.1."""
    _, training, _ = read_flagfiles("configs/big.flags")
    minutes = 3.5 * 24 * 60
    assert training.checkpoint_every_steps == pytest.approx(300_000 * 10 / minutes, rel=0.01)


@pytest.mark.parametrize("flagfile", FLAGFILES)
def test_a_flagfile_averages_checkpoints_by_updates(flagfile: str) -> None:
    """So its result does not depend on the speed of the machine."""
    training = read_flagfiles(flagfile).training
    assert (
        0 < training.checkpoint_every_steps <= training.train_steps / training.average_checkpoints
    )


def test_the_defaults_are_the_base_model() -> None:
    base = read_flagfiles("configs/base.flags")
    assert base == (TransformerConfig(), TrainingConfig(), SearchConfig())


def test_base_en_fr_is_base_on_other_data() -> None:
    base, en_fr = read_flagfiles("configs/base.flags"), read_flagfiles("configs/base_en_fr.flags")
    assert differences(base, en_fr) == {
        "dataset_dir": "data/wmt14_en_fr",
        "run_dir": "runs/base_en_fr",
    }


def test_big_en_fr_is_big_on_other_data_with_less_dropout() -> None:
    """§6.1: P_drop = 0.1 instead of 0.3."""
    big, en_fr = read_flagfiles("configs/big.flags"), read_flagfiles("configs/big_en_fr.flags")
    assert differences(big, en_fr) == {
        "dropout": 0.1,
        "dataset_dir": "data/wmt14_en_fr",
        "run_dir": "runs/big_en_fr",
    }


def test_english_to_french_is_preprocessed_with_the_papers_word_pieces() -> None:
    """§5.1: 32,000 word-pieces."""
    header = Path("configs/base_en_fr.flags").read_text(encoding="utf-8")
    (command,) = re.findall(r"python -m pipeline\.preprocess(.*?)\n# Command", header, re.DOTALL)
    assert sorted(re.findall(r"--\S+", command)) == [
        "--dataset=wmt14_en_fr",
        "--output_dir=data/wmt14_en_fr",
        "--subwords=wordpiece",
        "--target_language=fr",
        "--vocabulary_size=32000",
    ]


# Fields in which Tensor2Tensor's transformer_base_v3 differs from the paper.
TENSOR2TENSOR = {
    "norm": "pre",
    "attention_dropout": 0.1,
    "relu_dropout": 0.1,
    "positions": "sinusoidal_halves",
    "padding_embedding": "zeros",
    "target_space": True,
    "attention_init_variance": 1.0,
    "label_smoothing_over": "wrong",
    "adam_beta_2": 0.997,
    "warmup_steps": 8000,
    "learning_rate_scale": 2.0,
    "extra_length": 100,
}


def test_recipe_t2t_differs_from_the_paper_in_these_fields() -> None:
    base = read_flagfiles("configs/base.flags")
    t2t = read_flagfiles("configs/base.flags", "configs/recipes/t2t.flags")
    assert differences(base, t2t) == TENSOR2TENSOR


def test_recipe_paper_names_the_same_fields_and_is_the_default() -> None:
    paper, t2t = (
        re.findall(r"^--(\w+)=", Path(recipe).read_text(encoding="utf-8"), re.MULTILINE)
        for recipe in RECIPES
    )
    assert paper == t2t == [*TENSOR2TENSOR]
    assert read_flagfiles("configs/recipes/paper.flags") == Experiment(
        TransformerConfig(), TrainingConfig(), SearchConfig()
    )


def test_a_fine_tuned_model_begins_where_the_general_one_ended() -> None:
    """At the same learning rate: scale · √(updates / warm-up) of the one, scale of the other."""
    general, tuned, mixed = (
        read_flagfiles(f"configs/recipes/finetune_{name}.flags").training
        for name in ("general", "captions", "mixed")
    )
    assert tuned.init_from == general.run_dir
    last = general.learning_rate_scale * (tuned.warmup_steps / general.train_steps) ** 0.5
    assert tuned.learning_rate_scale == pytest.approx(last, abs=0.005)
    assert mixed == dataclasses.replace(
        tuned,
        run_dir=mixed.run_dir,
        dataset_dir=f"{tuned.dataset_dir},{general.dataset_dir}",
        dataset_weights=("3", "1"),
    )


def test_the_deep_encoder_differs_in_depth_alone() -> None:
    small, deep = (
        read_flagfiles(f"configs/recipes/{name}.flags") for name in ("small", "deep_encoder")
    )
    assert differences(small, deep) == {
        "run_dir": "runs/recipes/deep_encoder",
        "encoder_layers": 6,
        "decoder_layers": 2,
    }


def test_recipe_paper_reverts_recipe_t2t() -> None:
    both = read_flagfiles("configs/base.flags", *reversed(RECIPES))
    assert both == read_flagfiles("configs/base.flags")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train_steps": 0}, "received --train_steps=0: expected at least 1"),
        ({"tokens_per_batch": 0}, "received --tokens_per_batch=0: expected at least 1"),
        ({"warmup_steps": 0}, "received --warmup_steps=0: expected at least 1"),
        ({"log_every_steps": 0}, "received --log_every_steps=0: expected at least 1"),
        ({"gradient_accumulation": 0}, "received --gradient_accumulation=0: expected at least 1"),
        ({"max_skipped_steps": 0}, "received --max_skipped_steps=0: expected at least 1"),
        ({"learning_rate_scale": 0.0}, "received --learning_rate_scale=0.0: expected above 0"),
        (
            {"learning_rate_scale": float("inf")},
            "received --learning_rate_scale=inf: expected above 0 and finite",
        ),
        ({"adam_epsilon": 0.0}, "received --adam_epsilon=0.0: expected above 0"),
        ({"adam_beta_1": 1.0}, "received --adam_beta_1=1.0: expected at least 0 and below 1"),
        ({"adam_beta_2": -0.1}, "received --adam_beta_2=-0.1: expected at least 0 and below 1"),
        ({"ema_decay": 1.0}, "received --ema_decay=1.0: expected at least 0 and below 1"),
        ({"label_smoothing": 1.0}, "received --label_smoothing=1.0: .* at least 0 and below 1"),
        ({"label_smoothing_over": "none"}, "--label_smoothing_over=none: expected all or wrong"),
        ({"mixed_precision": "int8"}, "=int8: expected none or bfloat16 or float16"),
        ({"nan_policy": "pray"}, "received --nan_policy=pray: expected stop or skip"),
        ({"seed": -1}, "received --seed=-1: expected at least 0 and below 4294967296"),
        ({"checkpoint_every_steps": -1}, "received --checkpoint_every_steps=-1: .* at least 0"),
        ({"checkpoint_every_minutes": -1}, "received --checkpoint_every_minutes=-1: .*least 0"),
        ({"eval_every_steps": -1}, "received --eval_every_steps=-1: expected at least 0"),
        ({"eval_sentences": -1}, "received --eval_sentences=-1: expected at least 0"),
        ({"early_stopping_patience": -1}, "received --early_stopping_patience=-1: .* at least 0"),
        (
            {"early_stopping_patience": 2},
            "--early_stopping_patience=2 with --eval_every_steps=0: .* eval_every_steps above 0",
        ),
        (
            {"average": "all"},
            "received --average=all: expected last or best or ema or none or auto",
        ),
        ({"average": "best"}, "--average=best with --eval_every_steps=0: .*_steps above 0"),
        ({"average": "ema"}, "--average=ema with --ema_decay=0.0: expected ema_decay above 0"),
        (
            {"average_checkpoints": 0},
            "=0 with --keep_checkpoints=5: .* at least 1 and at most keep",
        ),
        (
            {"average_checkpoints": 6},
            "=6 with --keep_checkpoints=5: .* at least 1 and at most keep",
        ),
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
        {"average_checkpoints": 5, "keep_checkpoints": 5, "average": "auto"},
        {"average": "best", "eval_every_steps": 1},
        {"average": "ema", "ema_decay": 0.5},
        {"train_steps": 1, "tokens_per_batch": 1, "warmup_steps": 1, "log_every_steps": 1},
    ],
)
def test_the_ends_of_the_ranges_are_accepted(values: dict[str, Any]) -> None:
    TrainingConfig(**values)


def test_the_parser_of_the_paper_is_the_base_model_with_section_6_3() -> None:
    paper = read_flagfiles("configs/parsing_paper.flags")
    assert differences(read_flagfiles("configs/base.flags"), paper) == {
        "num_layers": 4,
        "model_dim": 1024,
        "key_dim": 128,
        "value_dim": 128,
        "dropout": 0.2,
        "attention_dropout": 0.2,
        "dataset_dir": "data/parsing_paper",
        "run_dir": "runs/parsing_paper",
        "warmup_steps": 16_000,
        "beam_size": 21,
        "length_penalty": 0.3,
        "extra_length": 300,
        "max_source_length": 512,
    }


def test_the_semi_supervised_parser_differs_in_its_data_alone() -> None:
    paper = read_flagfiles("configs/parsing_paper.flags")
    more = read_flagfiles("configs/parsing_paper_semi_supervised.flags")
    assert set(differences(paper, more)) == {"dataset_dir", "run_dir"}
    for name, size in (("parsing_paper", "16000"), ("parsing_paper_semi_supervised", "32000")):
        header = Path(f"configs/{name}.flags").read_text(encoding="utf-8")
        assert f"--vocabulary_size={size}" in header
