import dataclasses
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from absl import flags

from model.config import SearchConfig, TransformerConfig
from pipeline.common import cli, storage
from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset
from trainer.config import TrainingConfig
from trainer.runs import run_directory
from trainer.runs.checkpoint_files import Checkpoint, write_checkpoint
from trainer.runs.origin import Origin
from trainer.runs.run_directory import Run, load_run, lock_run_directory, open_run

# Every field has another value than its default, so that a field which is lost would be noticed.
TRANSFORMER = TransformerConfig(
    num_layers=1,
    encoder_layers=3,
    decoder_layers=2,
    model_dim=16,
    feed_forward_dim=24,
    num_heads=2,
    key_dim=5,
    value_dim=7,
    dropout=0.25,
    attention_dropout=0.125,
    relu_dropout=0.375,
    norm="pre",
    positions="learned",
    max_positions=99,
    padding_embedding="zeros",
    target_space=True,
    attention_window=5,
    attention_init_variance=0.75,
)
SEARCH = SearchConfig(
    beam_size=3,
    n_best=2,
    length_penalty=0.75,
    length_penalty_form="power",
    coverage_penalty=0.25,
    min_length=2,
    extra_length=9,
    max_source_length=128,
    no_repeat_ngram=3,
    temperature=0.5,
    top_k=8,
    top_p=0.875,
    sampling_seed=4,
)


@pytest.fixture(autouse=True)
def origin(tmp_path: Path) -> Origin:
    """The best checkpoint of the run that others start from."""
    path = tmp_path / "origin" / "best" / "step-00000004"
    write_checkpoint(Checkpoint(path, 4, 0.0, bleu=1.5), {"weight": np.zeros(3)})
    sha256 = hashlib.sha256((path / "weights.npz").read_bytes()).hexdigest()
    return Origin(str(path), 4, sha256)


def make_training(tmp_path: Path, **changes: Any) -> TrainingConfig:
    values: dict[str, Any] = {
        "dataset_dir": "/some/data",
        "run_dir": str(tmp_path / "run"),
        "init_from": str(tmp_path / "origin"),
        "init_checkpoint": "best",
        "freeze": ("encoder",),
        "train_steps": 12,
        "tokens_per_batch": 345,
        "gradient_accumulation": 2,
        "warmup_steps": 6,
        "learning_rate_scale": 0.1,
        "adam_beta_1": 0.8,
        "adam_beta_2": 0.997,
        "adam_epsilon": 1e-08,
        "ema_decay": 0.5,
        "label_smoothing": 0.2,
        "label_smoothing_over": "wrong",
        "seed": 3,
        "mixed_precision": "bfloat16",
        "gradient_reduction": "float16",
        "jit_compile": True,
        "steps_per_call": 2,
        "nan_policy": "skip",
        "max_skipped_steps": 3,
        "log_every_steps": 4,
        "checkpoint_every_steps": 5,
        "checkpoint_every_minutes": 2.5,
        "keep_checkpoints": 7,
        "average": "auto",
        "average_checkpoints": 6,
        "eval_every_steps": 8,
        "eval_sentences": 9,
        "early_stopping_patience": 11,
        "deterministic": True,
        "dry_run": True,
        "device": "cpu",
        "dataset_weights": ("2",),
    }
    return TrainingConfig(**{**values, **changes})


def start(tmp_path: Path, dataset: Dataset, **changes: Any) -> Run:
    """Opens a run, and leaves it as one that has saved something."""
    run = open_run(TRANSFORMER, make_training(tmp_path, **changes), SEARCH, dataset)
    (run.directory / "checkpoints").mkdir(exist_ok=True)
    return run


def test_the_sample_values_differ_from_every_default(tmp_path: Path) -> None:
    for config in (TRANSFORMER, make_training(tmp_path), SEARCH):
        for field in dataclasses.fields(config):
            if field.name != "dataset_temperature":  # excluded by weights
                assert getattr(config, field.name) != field.default, field.name


def test_a_worker_that_does_not_write_leaves_the_directory_alone(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    described = open_run(TRANSFORMER, make_training(tmp_path), SEARCH, tiny_dataset, write=False)
    assert not (tmp_path / "run").exists()
    assert start(tmp_path, tiny_dataset) == described
    with pytest.raises(UserError, match="--seed was 3, now 4"):
        open_run(TRANSFORMER, make_training(tmp_path, seed=4), SEARCH, tiny_dataset, write=False)


def test_a_run_that_saved_nothing_gives_way_to_another(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    open_run(TRANSFORMER, make_training(tmp_path), SEARCH, tiny_dataset)
    second = start(tmp_path, tiny_dataset, tokens_per_batch=99)
    assert load_run(tmp_path / "run") == second


def test_a_run_directory_in_a_store_is_refused(tmp_path: Path, tiny_dataset: Dataset) -> None:
    with pytest.raises(UserError, match="received --run_dir=gs://b/run: expected a folder"):
        start(tmp_path, tiny_dataset, run_dir="gs://b/run")
    with pytest.raises(UserError, match="received --run_dir=gs://b/run: expected a folder"):
        load_run("gs://b/run")


def test_two_processes_do_not_train_in_one_directory(tmp_path: Path) -> None:
    run_dir = str(tmp_path / "new")
    with lock_run_directory(run_dir):
        expected = f"another process is training in {run_dir}: wait"
        with pytest.raises(UserError, match=expected), lock_run_directory(run_dir):
            pass
    with lock_run_directory(run_dir):
        pass


def test_a_folder_of_something_else_is_refused_and_left_alone(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/thesis.tex").touch()
    for opening in (
        lambda: open_run(TRANSFORMER, make_training(tmp_path), SEARCH, tiny_dataset),
        lambda: lock_run_directory(str(tmp_path / "run")).__enter__(),
    ):
        with pytest.raises(UserError, match="is not empty and holds no run"):
            opening()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_start_that_was_stopped_at_any_write_can_be_repeated(
    tmp_path: Path, tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    done: list[str] = []

    def write(path: str, data: bytes) -> None:
        if len(done) == writes:
            Path(f"{path}.1234.tmp").write_bytes(data[:1])
            raise KeyboardInterrupt
        done.append(path)
        storage.write_atomically(path, data)

    training = make_training(tmp_path)
    monkeypatch.setattr(run_directory, "write_atomically", write)
    with pytest.raises(KeyboardInterrupt), lock_run_directory(training.run_dir):
        open_run(TRANSFORMER, training, SEARCH, tiny_dataset)
    monkeypatch.undo()
    with lock_run_directory(training.run_dir):
        run = open_run(TRANSFORMER, training, SEARCH, tiny_dataset)
    assert load_run(training.run_dir) == run


def test_reading_a_run_returns_what_was_opened(tmp_path: Path, tiny_dataset: Dataset) -> None:
    opened = start(tmp_path, tiny_dataset)
    assert load_run(tmp_path / "run") == opened
    assert opened.data.fingerprint == tiny_dataset.fingerprint
    assert opened.data.vocabularies == tiny_dataset.vocabularies
    assert (opened.data.source_language, opened.data.target_language) == ("en", "de")


def test_run_json_holds_the_configuration_the_data_and_the_origin(
    tmp_path: Path, tiny_dataset: Dataset, origin: Origin
) -> None:
    start(tmp_path, tiny_dataset)
    vocabulary = dataclasses.asdict(tiny_dataset.vocabularies["source"])
    assert json.loads((tmp_path / "run" / "run.json").read_text("utf-8")) == {
        "transformer": dataclasses.asdict(TRANSFORMER),
        "training": dataclasses.asdict(make_training(tmp_path))
        | {"dataset_weights": ["2"], "freeze": ["encoder"]},
        "search": dataclasses.asdict(SEARCH),
        "data": {
            "fingerprint": tiny_dataset.fingerprint,
            "source_language": "en",
            "target_language": "de",
            "vocabularies": {"source": vocabulary, "target": vocabulary},
            "filled": "mean of both sides",
            "mixed_in": [],
            "source_tag": "",
        },
        "origin": dataclasses.asdict(origin),
    }


@pytest.mark.parametrize(
    ("old", "new"), [('"beam_size"', '"beams"'), ("{", ""), ('"search"', '"searching"')]
)
def test_a_run_of_another_version_is_refused_by_its_file(
    tmp_path: Path, tiny_dataset: Dataset, old: str, new: str
) -> None:
    start(tmp_path, tiny_dataset)
    path = tmp_path / "run" / "run.json"
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(UserError, match=r"run.json cannot be read .*the version that trained"):
        load_run(tmp_path / "run")


def test_a_run_keeps_its_own_subwords(tmp_path: Path, tiny_dataset: Dataset) -> None:
    run = start(tmp_path, tiny_dataset)
    original = Path(tiny_dataset.path("subwords.model"))
    for side in ("source", "target"):
        assert run.subwords_path(side) == tmp_path / "run" / "subwords.model"
        assert run.subwords_path(side).read_bytes() == original.read_bytes()


def test_a_run_of_before_the_depths_apart_is_read(tmp_path: Path, tiny_dataset: Dataset) -> None:
    run = start(tmp_path, tiny_dataset)
    values = json.loads((run.directory / "run.json").read_text())
    for name in ("encoder_layers", "decoder_layers"):
        del values["transformer"][name]
    (run.directory / "run.json").write_text(json.dumps(values))
    assert load_run(run.directory).transformer.depths == (1, 1)


def test_flags_txt_is_a_flagfile_of_the_same_configuration(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    start(tmp_path, tiny_dataset)
    values = flags.FlagValues()
    flags.DEFINE_multi_string("flagfile", [], "", flag_values=values)
    for config in (TrainingConfig, TransformerConfig, SearchConfig):
        cli.define_flags(config, values)
    cli.parse(["task", f"--flagfile={tmp_path}/run/flags.txt"], values)
    assert cli.config_from_flags(TrainingConfig, values) == make_training(tmp_path)
    assert cli.config_from_flags(TransformerConfig, values) == TRANSFORMER
    assert cli.config_from_flags(SearchConfig, values) == SEARCH


def test_the_same_flags_resume(tmp_path: Path, tiny_dataset: Dataset) -> None:
    first = start(tmp_path, tiny_dataset)
    assert start(tmp_path, tiny_dataset) == first


def test_a_resumed_run_may_change_what_does_not_alter_its_course(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    start(tmp_path, tiny_dataset)
    changes: dict[str, Any] = {
        "train_steps": 13,
        "dataset_dir": "/moved",
        "gradient_accumulation": 1,
        "gradient_reduction": "float32",
        "jit_compile": False,
        "steps_per_call": 1,
        "nan_policy": "stop",
        "max_skipped_steps": 1,
        "log_every_steps": 1,
        "checkpoint_every_steps": 1,
        "checkpoint_every_minutes": 1.0,
        "keep_checkpoints": 2,
        "average": "best",
        "average_checkpoints": 2,
        "eval_every_steps": 1,
        "eval_sentences": 1,
        "early_stopping_patience": 1,
        "dry_run": False,
        "device": "auto",
    }
    start(tmp_path, tiny_dataset, **changes)
    assert load_run(tmp_path / "run").training == make_training(tmp_path, **changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens_per_batch": 346}, "--tokens_per_batch was 345, now 346"),
        ({"warmup_steps": 7}, "--warmup_steps was 6, now 7"),
        ({"learning_rate_scale": 1.5}, "--learning_rate_scale was 0.1, now 1.5"),
        ({"adam_beta_1": 0.9}, "--adam_beta_1 was 0.8, now 0.9"),
        ({"adam_beta_2": 0.98}, "--adam_beta_2 was 0.997, now 0.98"),
        ({"adam_epsilon": 1e-9}, "--adam_epsilon was 1e-08, now 1e-09"),
        ({"label_smoothing": 0.0}, "--label_smoothing was 0.2, now 0.0"),
        ({"seed": 4}, "--seed was 3, now 4"),
        ({"dataset_weights": ("3",)}, "--dataset_weights was ('2',), now ('3',)"),
        ({"mixed_precision": "none"}, "--mixed_precision was 'bfloat16', now 'none'"),
    ],
)
def test_a_resumed_run_of_other_training_is_refused(
    tmp_path: Path, tiny_dataset: Dataset, change: dict[str, Any], message: str
) -> None:
    start(tmp_path, tiny_dataset)
    before = (tmp_path / "run" / "run.json").read_bytes()
    with pytest.raises(UserError) as refusal:
        start(tmp_path, tiny_dataset, **change)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "another --run_dir" in str(refusal.value)
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def test_a_run_whose_batches_were_filled_otherwise_is_read_but_not_resumed(
    tmp_path: Path, tiny_dataset: Dataset
) -> None:
    """As by versions that record nothing about it."""
    run = start(tmp_path, tiny_dataset)
    values = json.loads((run.directory / "run.json").read_text())
    assert values["data"].pop("filled") == "mean of both sides"
    (run.directory / "run.json").write_text(json.dumps(values))
    assert load_run(run.directory).training == run.training
    with pytest.raises(
        UserError, match="counts the longer side, here the mean of both sides: fini"
    ):
        start(tmp_path, tiny_dataset)


def test_a_resumed_run_of_another_model_is_refused(tmp_path: Path, tiny_dataset: Dataset) -> None:
    start(tmp_path, tiny_dataset)
    changed = dataclasses.replace(TRANSFORMER, num_layers=2)
    with pytest.raises(UserError, match="--num_layers was 1, now 2"):
        open_run(changed, make_training(tmp_path), SEARCH, tiny_dataset)


def test_a_resumed_run_may_search_otherwise(tmp_path: Path, tiny_dataset: Dataset) -> None:
    start(tmp_path, tiny_dataset)
    changed = dataclasses.replace(SEARCH, beam_size=8)
    open_run(TRANSFORMER, make_training(tmp_path), changed, tiny_dataset)
    assert load_run(tmp_path / "run").search == changed


def test_a_run_records_every_dataset_of_a_mixture(tmp_path: Path, tiny_dataset: Dataset) -> None:
    french = dataclasses.replace(tiny_dataset, fingerprint="f00", target_language="fr")
    mixed: dict[str, Any] = {"dataset_dir": "a,/b", "dataset_weights": ("3", "1")}
    training = make_training(tmp_path, **mixed)
    run = open_run(TRANSFORMER, training, SEARCH, tiny_dataset, french)
    (run.directory / "checkpoints").mkdir()
    recorded = load_run(run.directory)
    assert recorded == run
    assert recorded.training.dataset_dirs == (f"{Path.cwd()}/a", "/b")
    assert recorded.data.fingerprints == [tiny_dataset.fingerprint, "f00"]
    assert recorded.data.languages == [("en", "de"), ("en", "fr")]
    assert "--dataset_weights=3,1\n" in (run.directory / "flags.txt").read_text()
    open_run(TRANSFORMER, training, SEARCH, tiny_dataset, french)
    with pytest.raises(UserError, match="was replaced: .*a,/b is not what the run was trained on"):
        open_run(TRANSFORMER, training, SEARCH, french, tiny_dataset)


def test_a_run_of_before_mixtures_is_read(tmp_path: Path, tiny_dataset: Dataset) -> None:
    run = start(tmp_path, tiny_dataset, dataset_weights=())
    values = json.loads((run.directory / "run.json").read_text())
    del values["data"]["mixed_in"]
    for name in ("dataset_weights", "dataset_temperature"):
        del values["training"][name]
    (run.directory / "run.json").write_text(json.dumps(values))
    assert load_run(run.directory) == run


def test_a_resumed_run_on_other_data_is_refused(tmp_path: Path, tiny_dataset: Dataset) -> None:
    start(tmp_path, tiny_dataset)
    changed = dataclasses.replace(tiny_dataset, fingerprint="f00")
    with pytest.raises(UserError, match="run was replaced: /some/data is not what .*; restore it"):
        start(tmp_path, changed)
    expected = "another dataset than /new: set --dataset_dir=/some/data, or another --run_dir"
    with pytest.raises(UserError, match=expected):
        start(tmp_path, changed, dataset_dir="/new")
    assert load_run(tmp_path / "run").data.fingerprint == tiny_dataset.fingerprint


def test_a_dataset_is_recorded_by_its_absolute_path(
    tmp_path: Path, tiny_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start(tmp_path, tiny_dataset, dataset_dir="data/my own")
    expected = f"{tmp_path}/data/my own"
    assert load_run(tmp_path / "run").training.dataset_dir == expected
    assert f"--dataset_dir={expected}\n" in (tmp_path / "run/flags.txt").read_text("utf-8")
    start(tmp_path, tiny_dataset, dataset_dir="gs://bucket/data")
    assert load_run(tmp_path / "run").training.dataset_dir == "gs://bucket/data"


def test_a_run_that_has_begun_keeps_its_origin_where_that_was_deleted_or_replaced(
    tmp_path: Path, tiny_dataset: Dataset, origin: Origin
) -> None:
    start(tmp_path, tiny_dataset)
    write_checkpoint(Checkpoint(Path(origin.path), 4, 0.0, bleu=1.5), {"weight": np.ones(3)})
    assert start(tmp_path, tiny_dataset).origin == origin
    shutil.rmtree(tmp_path / "origin")
    assert start(tmp_path, tiny_dataset).origin == origin
    with pytest.raises(UserError, match="--freeze was .*encoder.*, now .*decoder"):
        start(tmp_path, tiny_dataset, freeze=("decoder",))


def test_a_run_that_saved_nothing_reads_its_origin_again(
    tmp_path: Path, tiny_dataset: Dataset, origin: Origin
) -> None:
    open_run(TRANSFORMER, make_training(tmp_path), SEARCH, tiny_dataset)
    write_checkpoint(Checkpoint(Path(origin.path), 5, 0.0, bleu=1.5), {"weight": np.ones(3)})
    run = start(tmp_path, tiny_dataset)
    assert run.origin and run.origin.step == 5 and run.origin.sha256 != origin.sha256


def test_flags_txt_leaves_out_what_has_no_value(tmp_path: Path, tiny_dataset: Dataset) -> None:
    start(tmp_path, tiny_dataset, jit_compile=None)
    assert "jit_compile" not in (tmp_path / "run" / "flags.txt").read_text("utf-8")


def test_a_directory_of_something_else_is_refused(tmp_path: Path, tiny_dataset: Dataset) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("do not touch")
    with pytest.raises(UserError, match="is not empty and holds no run.*--run_dir"):
        start(tmp_path, tiny_dataset)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]


def test_an_empty_directory_is_taken(tmp_path: Path, tiny_dataset: Dataset) -> None:
    (tmp_path / "run").mkdir()
    start(tmp_path, tiny_dataset)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["training"]["seed"] == 3


def test_loading_where_there_is_no_run_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no run in .*python -m trainer.task --run_dir="):
        load_run(tmp_path)
