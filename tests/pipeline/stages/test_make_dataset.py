"""The whole graph: its verbs, and its counters on the engine's page."""

import collections
import dataclasses
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from pipeline.cleaning.rules import CleaningConfig
from pipeline.dataset.schema import Dataset
from pipeline.stages import beam_pipeline
from tests.helpers.preprocessing import build, configure, make_corpus

# Of `dataset.json`, by split: counted where blocks are cleaned, held out and encoded.
COUNTING = ("CleanPairs", "HoldOut", "EncodePairs")
TOKENS = ("source_tokens", "target_tokens")


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects the results of all jobs."""
    results: list[Any] = []

    def run(pipeline: beam.Pipeline) -> None:
        results.append(pipeline.run())

    monkeypatch.setattr(beam_pipeline, "run_to_end", run)
    return results


def counters_of(result: Any) -> dict[str, collections.Counter[str]]:
    """Returns the sums over all verbs that count pairs, by split."""
    sums = collections.defaultdict[str, collections.Counter[str]](collections.Counter)
    for counter in result.metrics().query()["counters"]:
        verb, (split, _, name) = (
            counter.key.metric.namespace,
            counter.key.metric.name.partition("/"),
        )
        if verb in COUNTING:
            sums[split][name] += counter.committed
    return sums


def build_with_dropped_pairs(tmp_path: Path) -> Dataset:
    """Builds a dataset of which every rule drops something, with dev given and test held out."""
    rules = CleaningConfig(drop_duplicates=True, drop_identical_sides=True)
    config = configure(tmp_path, "out", cleaning=rules, max_length=12)
    with open(config.source_files[0], "a") as source, open(config.target_files[0], "a") as target:
        source.write("\nsame\ndogs run.\ndogs run.\n" + "word " * 30 + "\nu\u0308\n")
        target.write("above\nsame\nHunde laufen.\nHunde laufen.\n" + "Wort " * 30 + "\nx\n")
    dev = make_corpus(tmp_path / "dev", 7)
    files = {f"dev_{name}": value for name, value in dev.items()}
    return build(dataclasses.replace(config, **files))  # type: ignore[arg-type]


def test_counters_of_the_engine_equal_the_data_card(tmp_path: Path, results: list[Any]) -> None:
    dataset = build_with_dropped_pairs(tmp_path)
    (result,) = results
    counters = counters_of(result)
    for split, counts in dataset.counts.items():
        assert {name: counters[split][name] for name in counts} == counts, split
        assert counters[split]["recomposed"] == dataset.recomposed[split]
        shards = dataset.splits[split].shards
        for name in TOKENS:
            assert counters[split][name] == sum(getattr(shard, name) for shard in shards)
    assert sum(count > 0 for count in dataset.counts["train"].values()) >= 8  # of the rules too
    train = counters["train"]
    efficiency = sum(train[name] for name in TOKENS) / train["positions"]
    assert round(efficiency, 4) == dataset.padding_efficiency["total"]


def test_finished_blocks_are_counted_as_well(
    tmp_path: Path, results: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.build.staging.Staging.publish", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build(configure(tmp_path, "out"))
    (manifest,) = (tmp_path / "out/.staging").glob("*/final/dataset.json")
    manifest.unlink()
    monkeypatch.undo()
    monkeypatch.setattr(beam_pipeline, "run_to_end", lambda p: results.append(p.run()))
    dataset = build(configure(tmp_path, "out"))
    first, second = map(counters_of, results)
    assert first == second
    assert second["train"]["kept"] == dataset.counts["train"]["kept"]


def test_the_padding_of_rows_is_a_distribution(tmp_path: Path, results: list[Any]) -> None:
    dataset = build(configure(tmp_path, "out"))
    distributions = results[0].metrics().query()["distributions"]
    (padding,) = (each for each in distributions if each.key.metric.name == "train/row_padding")
    shards = dataset.splits["train"].shards
    means = [round(shard.padding / shard.rows) for shard in shards]
    assert (padding.committed.count, padding.committed.sum) == (len(means), sum(means))
    assert (padding.committed.min, padding.committed.max) == (min(means), max(means))
    assert (
        0 <= padding.committed.min <= padding.committed.max < max(map(sum, dataset.bucket_shapes))
    )


def test_the_graph_reads_as_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels: list[str] = []

    def list_labels(pipeline: beam.Pipeline) -> None:
        (root,) = pipeline.transforms_stack
        whole = next(part for part in root.parts if part.full_label == "MakeDataset")
        labels.extend(part.full_label.partition("/")[2] for part in whole.parts)
        pipeline.run()

    monkeypatch.setattr(beam_pipeline, "run_to_end", list_labels)
    build(configure(tmp_path, "out", cleaning=CleaningConfig(drop_duplicates=True)))
    verbs = [
        "ReadBlocks", "CleanPairs", "HoldOut", "MarkDuplicates", "CountWords", "LearnSubwords",
        "ChooseShapes", "EncodePairs", "WriteManifest",
    ]  # fmt: skip
    assert [label for label in labels if label in verbs] == verbs
