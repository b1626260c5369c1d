import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.common.errors import UserError
from pipeline.dataset.schema import Dataset
from trainer.runs.run_dataset import check_dataset, check_source_tag, load_run_dataset
from trainer.runs.run_directory import Run
from trainer.runs.training_data import describe_data, parse_data


def test_a_dataset_of_other_subwords_is_refused_with_how_to_make_one(
    make_run: Callable[..., Run], tiny_dataset: Dataset
) -> None:
    run = make_run()
    check_dataset(run, tiny_dataset)
    vocabularies = {
        side: dataclasses.replace(vocabulary, path=f"subwords.{side}.model", sha256="other")
        for side, vocabulary in tiny_dataset.vocabularies.items()
    }
    changed = dataclasses.replace(tiny_dataset, vocabularies=vocabularies)
    reversed_ = dataclasses.replace(tiny_dataset, source_language="de", target_language="en")
    with pytest.raises(UserError, match=r"is de → en, .*run is en → de: expected the same"):
        check_dataset(run, reversed_)
    with pytest.raises(UserError, match=r"other subwords .*--subwords_model=\S*/subwords.model$"):
        check_dataset(run, changed)
    data = dataclasses.replace(run.data, vocabularies=vocabularies)
    separate = dataclasses.replace(run, data=data)
    two = r"=\S*source.model,\S*target.model --shared_vocabulary=false$"
    with pytest.raises(UserError, match=two):
        check_dataset(separate, tiny_dataset)


def tag_dataset(dataset: Dataset, tag: str) -> Dataset:
    """Returns a dataset as if it had been preprocessed with `--source_tag`."""
    return dataclasses.replace(dataset, config={**dataset.config, "source_tag": tag})


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["<2de>"], ["<2de>"]),
        (["<2de>", "<2fr>", "<2de>"], ["<2de>", "<2fr>"]),
        (["", "<bt>"], []),
        (["<bt>", ""], []),
        ([""], []),
    ],
)
def test_tags_are_required_if_all_training_text_has_some(
    make_run: Callable[..., Run],
    tiny_dataset: Dataset,
    caplog: pytest.LogCaptureFixture,
    tags: list[str],
    expected: list[str],
) -> None:
    datasets = [tag_dataset(tiny_dataset, tag) for tag in tags]
    run = dataclasses.replace(make_run(), data=describe_data(datasets))
    assert run.data.required_tags == expected
    check_source_tag(run, "")
    assert [record.getMessage() for record in caplog.records] == [
        f"{run.directory} was trained with {' or '.join(expected)} before each sentence: set "
        "--source_tag, unless the text brings its own"
        for _ in expected[:1]
    ]


def test_a_run_that_does_not_record_its_tag_is_the_same_run(tiny_dataset: Dataset) -> None:
    tagged = describe_data([tag_dataset(tiny_dataset, "<2de>")] * 2)
    values = dataclasses.asdict(tagged)
    assert parse_data(values).required_tags == ["<2de>"]
    del values["source_tag"], values["mixed_in"][0]["source_tag"]
    before = parse_data(values)
    assert before == tagged and before.required_tags == []


def test_the_dataset_of_a_run_is_found_or_the_flag_for_it_is_named(
    make_run: Callable[..., Run],
    tiny_dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run()
    assert load_run_dataset(run).fingerprint == tiny_dataset.fingerprint
    shutil.copytree(tiny_dataset.directory, tmp_path / "data")
    relative = dataclasses.replace(run.training, dataset_dir="data")  # of an earlier version
    run = dataclasses.replace(run, training=relative)
    with pytest.raises(UserError, match="was trained on data: set --dataset_dir if it is elsewher"):
        load_run_dataset(run)
    assert load_run_dataset(run, str(tmp_path / "data")).directory == f"{tmp_path}/data"
    monkeypatch.chdir(tmp_path)
    assert load_run_dataset(run).directory == "data"
    with pytest.raises(UserError, match="^no dataset at none: make it with"):
        load_run_dataset(run, "none")
