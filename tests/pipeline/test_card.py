import dataclasses
from pathlib import Path

import pytest

from pipeline import card
from pipeline.config import PreprocessConfig
from pipeline.dataset.schema import Dataset, parse_example, read_records, split_row
from tests.helpers.preprocessing import build, configure


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build(configure(tmp_path_factory.mktemp("card"), "out"))


def section(text: str, title: str) -> list[str]:
    (paragraph,) = (part for part in text.split("\n\n") if part.startswith(f"{title}\n"))
    return [" ".join(line.split()) for line in paragraph.split("\n")[1:]]


def test_the_card_names_what_was_read_and_dropped(dataset: Dataset) -> None:
    text = card.format_card(dataset, samples=0)
    assert text.startswith(f"{dataset.directory}: train.en, English → German, 310 bpe subwords\n")
    assert dataset.fingerprint in text
    inputs = section(text, "Inputs")
    assert len(inputs) == 1 and inputs[0].startswith("train 500 lines SHA-256 ")
    pairs = section(text, "Pairs")
    assert pairs[:2] == ["train dev test", "read 500 20 20"]
    assert "- held_out 40" in pairs and pairs[-2] == "kept 460 20 20"
    assert pairs[-1] == "sides changed by Unicode NFC 0 0 0"


def test_the_card_shows_padding_by_bucket(dataset: Dataset) -> None:
    *buckets, total = section(card.format_card(dataset, samples=0), "Buckets of train")[1:]
    shapes = [tuple(map(int, row.split()[0].split("x"))) for row in buckets]
    assert shapes == list(dataset.bucket_shapes)
    efficiency = dataset.padding_efficiency
    for row in buckets:
        assert row.endswith(f"{efficiency[row.split()[0]]:.1%}")
    assert total.split()[2] == "460" and total.endswith(f"{efficiency['total']:.1%}")


def test_efficiency_is_that_of_the_rows(dataset: Dataset) -> None:
    shards = dataset.splits["train"].shards
    tokens = sum(shard.source_tokens + shard.target_tokens for shard in shards)
    positions = sum(shard.rows * (shard.shape[0] + shard.shape[1]) for shard in shards)
    assert any(source != target for source, target in dataset.bucket_shapes)
    assert dataset.padding_efficiency["total"] == round(tokens / positions, 4)


def test_the_histogram_holds_every_pair_of_a_small_corpus(dataset: Dataset) -> None:
    title, *rows = section(card.format_card(dataset, samples=0), "Lengths of train")
    assert title.endswith("460 of 460 pairs")
    assert len(rows) <= 16
    lengths = [
        max(map(len, pair))
        for shard in dataset.splits["train"].shards
        for record in read_records(dataset.path(shard.path))
        for pair in split_row(*parse_example(record))
    ]
    shares = [float(row.split()[1].removesuffix("%")) for row in rows]
    for row, share in zip(rows, shares, strict=True):
        first, last = map(int, row.split()[0].split("–"))
        expected = sum(first <= length <= last for length in lengths) / len(lengths)
        assert share == pytest.approx(100 * expected, abs=0.051)
    bars = [row.count("█") for row in rows]
    assert bars.index(40) == shares.index(max(shares))


def test_the_histogram_of_a_large_corpus_is_a_sample(
    dataset: Dataset,
) -> None:
    text = card.format_card(dataset, samples=0, sampled_pairs=92)
    title = section(text, "Lengths of train")[0]
    sampled = int(title.split()[-4])
    assert 80 <= sampled <= 104 and title.endswith("of 460 pairs")


@pytest.mark.parametrize("samples", [1, 2, 99])
def test_samples_show_text_and_subwords(dataset: Dataset, samples: int) -> None:
    text = card.format_card(dataset, samples=samples)
    start = text.index("Samples of train\n")
    shown = [pair.split("\n") for pair in text[start:].split("\n", 1)[1].split("\n\n")]
    assert len(shown) == min(samples, len(dataset.splits["train"].shards))
    assert len({source for source, *_ in shown}) == len(shown)
    sources = Path(str(dataset.config["source_files"][0])).read_text("utf-8").split("\n")
    for source, pieces, target, _ in shown:
        assert source.startswith("  en  ") and target.startswith("  de  ")
        assert source.removeprefix("  en  ") in sources
        spelled = pieces.replace(" ", "").replace("▁", " ").strip()
        assert spelled == source.removeprefix("  en  ") + "</s>"


@pytest.mark.parametrize(
    ("directory", "flags"),
    [
        ("data/multi30k_tok", "--flagfile=configs/multi30k_tok.flags"),
        ("data/wmt14_en_fr", "--flagfile=configs/base_en_fr.flags"),
        (
            "data/mine",
            "--flagfile=configs/multi30k.flags --dataset_dir=data/mine --run_dir=runs/mine",
        ),
        (
            "gs://b/mine",
            "--flagfile=configs/multi30k.flags --dataset_dir=gs://b/mine --run_dir=runs/mine",
        ),
        (
            "my data/d a",
            "--flagfile=configs/multi30k.flags --dataset_dir='my data/d a' --run_dir='runs/d a'",
        ),
    ],
)
def test_the_next_step_names_the_flags_made_for_the_directory(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, directory: str, flags: str
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert next_step(dataclasses.replace(dataset, directory=directory)) == (
        f"Next: python -m trainer.task {flags}"
    )


def next_step(dataset: Dataset) -> str:
    return card.format_summary(dataset, 1.0).splitlines()[-1]


def with_pairs(dataset: Dataset, split: str, pairs: int) -> Dataset:
    changed = dataclasses.replace(dataset.splits[split], pairs=pairs)
    return dataclasses.replace(dataset, splits={**dataset.splits, split: changed})


def test_many_pairs_suggest_the_papers_model(dataset: Dataset) -> None:
    large = with_pairs(dataset, "train", 4_500_000)
    assert "--flagfile=configs/base.flags --dataset_dir=" in next_step(large)


def test_the_built_in_corpus_suggests_the_demos_model(dataset: Dataset) -> None:
    builtin = dataclasses.replace(dataset, name=PreprocessConfig().name)
    assert "--flagfile=configs/demo.flags --dataset_dir=" in next_step(builtin)


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [
        (0, "--dev_source_files and --dev_target_files or --holdout_pairs, and another"),
        (20, "--dev_source_files and --dev_target_files, and another"),
    ],
)
def test_without_dev_pairs_the_next_step_is_to_add_them(
    dataset: Dataset, wanted: int, remedy: str
) -> None:
    config = {**dataset.config, "holdout_pairs": wanted}
    line = next_step(with_pairs(dataclasses.replace(dataset, config=config), "dev", 0))
    assert line.startswith("Warning: dev has no pairs, and training requires some.")
    assert remedy in line and "trainer.task" not in line


def test_the_summary_says_how_the_languages_are_known(dataset: Dataset) -> None:
    text = card.format_summary(dataset, 1.0, "from the file names")
    assert ": English → German (from the file names), 310 bpe subwords, 1.0 s\n" in text
    assert ": English → German, 310 bpe subwords, 1.0 s\n" in card.format_summary(dataset, 1.0)


def test_fewer_held_out_pairs_than_wanted_are_explained(dataset: Dataset) -> None:
    assert "held out:" not in card.format_summary(dataset, 1.0)
    fewer = dataclasses.replace(dataset, config={**dataset.config, "holdout_pairs": 50})
    line = "  held out: 20 for dev, 20 for test, instead of --holdout_pairs=50: at most 5 %"
    assert line in card.format_summary(fewer, 1.0)


def test_the_summary_and_the_card_say_that_the_size_was_chosen(dataset: Dataset) -> None:
    line = "\n  vocabulary size: chosen for 460 pairs; --vocabulary_size sets another\n"
    chosen = dataclasses.replace(dataset, config={**dataset.config, "vocabulary_size": None})
    assert line in card.format_summary(chosen, 1.0) and line in card.format_card(chosen, samples=0)
    assert "chosen" not in card.format_summary(dataset, 1.0) + card.format_card(dataset, samples=0)
