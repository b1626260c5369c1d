"""`trainer.task --init_from`: a run that starts from another one's weights."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.commands import call, refuse, succeed

TRAINING = (
    "--tokens_per_batch=512", "--gradient_accumulation=2", "--warmup_steps=2",
    "--learning_rate_scale=0.5", "--checkpoint_every_steps=1", "--average_checkpoints=1",
    "--log_every_steps=1", "--eval_every_steps=2", "--train_steps=2",
)  # fmt: skip


def fine_tuning_flags(dataset: Path, run_dir: Path, origin: Path, *more: str) -> list[str]:
    """No flag of the model or of search: those are the origin's."""
    folders = (f"--dataset_dir={dataset}", f"--run_dir={run_dir}", f"--init_from={origin}")
    return [*folders, *TRAINING, *more]


def arrays(checkpoint: Path, name: str = "weights") -> dict[str, np.ndarray]:
    with np.load(checkpoint / f"{name}.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def fine_tuned(trained: Path, text_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two updates that froze the encoder."""
    run_dir = tmp_path_factory.mktemp("runs") / "fine_tuned"
    flags = fine_tuning_flags(text_dataset, run_dir, trained, "--freeze=encoder")
    result = call("trainer.task", *flags)
    assert result.returncode == 0, result.stderr
    assert f"model and search of {trained}: --num_layers=1 --model_dim=32" in result.stderr
    assert f"weights: those of {trained}/averaged, step 12\n" in result.stderr
    return run_dir


def test_before_the_first_update_it_scores_on_dev_as_its_origin(
    trained: Path, fine_tuned: Path
) -> None:
    rows = [json.loads(line) for line in (fine_tuned / "metrics.jsonl").read_text().splitlines()]
    scores = [row for row in rows if "dev/bleu" in row]
    assert [row["step"] for row in scores] == [0, 2]
    result = json.loads((trained / "train.json").read_text())
    for name in ("bleu", "nll", "perplexity"):
        assert scores[0][f"dev/{name}"] == result[f"dev_{name}"]
    assert scores[1]["dev/nll"] != result["dev_nll"]


def test_it_records_its_origin_and_has_its_model(trained: Path, fine_tuned: Path) -> None:
    before, after = (
        json.loads((run_dir / "run.json").read_text()) for run_dir in (trained, fine_tuned)
    )
    weights = trained / "averaged" / "weights.npz"
    assert after["origin"] == {
        "path": str(weights.parent),
        "step": 12,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
    }
    assert (before["origin"], before["training"]["init_from"]) == (None, "")
    for name in ("transformer", "search"):
        assert after[name] == before[name]
    assert "--freeze=encoder\n" in (fine_tuned / "flags.txt").read_text()


def test_frozen_parts_end_with_the_bits_of_the_origin(trained: Path, fine_tuned: Path) -> None:
    before, after = (arrays(run_dir / "averaged") for run_dir in (trained, fine_tuned))
    assert before.keys() == after.keys()
    for name in before:
        is_equal = bool((before[name] == after[name]).all())
        assert is_equal == name.startswith("transformer/encoder/"), name


def test_it_resumes_to_the_same_bits_without_its_origin(
    trained: Path, text_dataset: Path, fine_tuned: Path, tmp_path: Path
) -> None:
    origin = shutil.copytree(trained, tmp_path / "origin")
    flags = fine_tuning_flags(text_dataset, tmp_path / "run", origin, "--freeze=encoder")
    succeed("trainer.task", *flags, "--train_steps=1")
    shutil.rmtree(origin)
    succeed("trainer.task", *flags)
    for name in ("weights", "state"):
        resumed, uninterrupted = (
            arrays(run_dir / "checkpoints" / "step-00000002", name)
            for run_dir in (tmp_path / "run", fine_tuned)
        )
        assert resumed.keys() == uninterrupted.keys()
        for key in resumed:
            np.testing.assert_array_equal(resumed[key], uninterrupted[key], err_msg=key)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["origin"]["step"] == 12
    assert "finished: 2 steps" in call("trainer.task", *flags).stderr


def test_a_dry_run_tells_the_origin_and_what_is_frozen(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    flags = fine_tuning_flags(text_dataset, tmp_path / "run", trained, "--dry_run")
    text = succeed("trainer.task", *flags, "--freeze=encoder,embedding")
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert lines["weights"] == f"those of {trained}/averaged, step 12"
    total, _, frozen = lines["parameters"].partition(", ")
    counts = {name: array.size for name, array in arrays(trained / "averaged").items()}
    of_decoder = sum(size for name, size in counts.items() if "/decoder/" in name)
    assert total == f"{sum(counts.values()):,}"
    assert frozen == f"{sum(counts.values()) - of_decoder:,} of them frozen"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--init_from=none"], "--init_from: no run in none (it has no run.json)"),
        (["--init_from=gs://b/run"], "--init_from=gs://b/run: expected a folder of a file system"),
        (["--init_checkpoint=5"], "no checkpoint '5' in ORIGIN (steps there: 8, 12)"),
        (["--init_checkpoint=5"], "set another --init_checkpoint"),
        (["--model_dim=64"], "received --model_dim=64 with --init_from=ORIGIN, whose model has"),
        (["--decoder_layers=2"], "has --decoder_layers=0: leave the flag out, or start from"),
        (["--freeze=tail"], "--freeze=tail: expected some of embedding, encoder and decoder"),
        (["--freeze=encoder,decoder,embedding"], "decoder, but not all"),
        (["--init_from=", "--freeze=encoder"], "--freeze=encoder: expected init_from, the run"),
        (["--init_from=", "--init_checkpoint=best"], "expected init_from, the run whose weights"),
        (["--run_dir=ORIGIN"], "holds a run of another configuration: --init_from was"),
    ],
)
def test_a_mistake_is_one_line(
    trained: Path, text_dataset: Path, tmp_path: Path, more: list[str], expected: str
) -> None:
    more = [flag.replace("ORIGIN", str(trained)) for flag in more]
    flags = fine_tuning_flags(text_dataset, tmp_path / "run", trained, *more)
    assert expected.replace("ORIGIN", str(trained)) in refuse("trainer.task", *flags)
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_run_does_not_start_from_itself(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    shutil.copy(trained / "run.json", tmp_path / "run")
    flags = fine_tuning_flags(text_dataset, tmp_path / "run", tmp_path / "run")
    assert "expected the directory of another run" in refuse("trainer.task", *flags)


def test_dropout_may_differ_from_the_origin_s(
    trained: Path, text_dataset: Path, tmp_path: Path
) -> None:
    flags = fine_tuning_flags(text_dataset, tmp_path / "run", trained, "--dropout=0.3")
    succeed("trainer.task", *flags, "--eval_every_steps=0", "--train_steps=1")
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["transformer"]["dropout"] == 0.3
