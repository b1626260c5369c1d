"""From bracketed trees to a dataset for parsing (§6.3)."""

import dataclasses
from pathlib import Path

import pytest

from pipeline import card
from pipeline.common.errors import UserError
from pipeline.config import PreprocessConfig
from pipeline.corpora.treebank import TreebankConfig
from pipeline.dataset import schema
from pipeline.dataset.trees import join
from pipeline.subwords.encoding import load_subwords
from pipeline.subwords.sharing import SharingConfig
from tests.helpers.commands import refuse, succeed
from tests.helpers.preprocessing import build, contents, read_pairs
from tests.helpers.treebank import write_treebank

# A tree of traces alone, one with more than nine symbols per word, and a long one.
EXTRA = "((S (NP (-NONE- *))))\n" + "(A " * 9 + "(NN deep)" + ")" * 9 + "\n"
EXTRA += f"(S {'(NP (NN long)) ' * 99})\n"


def configure(folder: Path, output: str, **changes: object) -> PreprocessConfig:
    folder.mkdir(exist_ok=True)
    train = write_treebank(folder / "train.mrg.gz", extra=EXTRA)
    dev = write_treebank(folder / "dev.mrg.gz", 20, extra="(S (UH oh) (X (NEW new)))\n( )\n")
    fields = {
        "treebank": TreebankConfig(trees=(train,), dev_trees=(dev,)),
        "output_dir": str(folder / output),
        "vocabulary_size": 310,
        "holdout_pairs": 10,
        **changes,
    }
    return PreprocessConfig(**fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> schema.Dataset:
    folder = tmp_path_factory.mktemp("trees")
    return build(configure(folder, "out"))


def symbols_of(dataset: schema.Dataset) -> list[str]:
    path = dataset.path(dataset.vocabularies["target"].path)
    return Path(path).read_text("utf-8").split("\n")


def test_pairs_are_words_and_symbols(dataset: schema.Dataset) -> None:
    pairs = dict(read_pairs(dataset, "train"))
    subject = "(NP (NP NNS )NP CC (NP (NP NNS )NP (PP IN (NP NNS )NP )PP )NP )NP"
    symbols = pairs["cats and dogs near birds run fast ."]
    assert symbols == f"(S (NP {subject} )NP (VP VBP (S (ADVP RB )ADVP )S )VP . )S"
    assert all(join(symbols, words) for words, symbols in pairs.items())


def test_the_dataset_knows_that_its_targets_are_trees(dataset: schema.Dataset) -> None:
    assert dataset.has_trees
    assert (dataset.source_language, dataset.target_language) == ("en", "trees")
    assert not dataclasses.replace(dataset, target_language="de").has_trees


def test_every_symbol_is_one_piece_and_the_sizes_differ(dataset: schema.Dataset) -> None:
    assert [dataset.vocabularies[side].size for side in schema.SIDES] == [310, 22]
    pieces = symbols_of(dataset)
    assert pieces[:4] == ["<pad>", "</s>", "XX", "(NP"]  # then the most frequent
    assert {"(NP", ")NP", "NNS", "."} < {*pieces}
    subwords = load_subwords(dataset.path(dataset.vocabularies["target"].path))
    line = "(S (NP NNS )NP . )S"
    assert [len(ids) for ids in subwords.encode([line])] == [6]
    assert subwords.decode(subwords.encode([line])) == [line]


def test_nothing_is_lost_uncounted(dataset: schema.Dataset) -> None:
    """A tree without words, one that is too long, and none for its many symbols per word."""
    counts = dataset.counts["train"]
    lost = {name: count for name, count in counts.items() if count and name not in ("read", "kept")}
    overlap = counts["overlap_with_dev_or_test"]
    assert counts["read"] == 303
    assert lost == {
        "empty_side": 1,
        "too_long": 1,
        "held_out": 10,
        "overlap_with_dev_or_test": overlap,
    }
    assert overlap == 19  # of the 20 trees of dev, one is also held out for test
    assert any(words == "deep" for words, _ in read_pairs(dataset, "train"))
    assert dataset.counts["dev"]["empty_side"] == 1


def test_evaluation_reads_whole_trees_with_tags(dataset: schema.Dataset) -> None:
    words, symbols = (schema.read_lines(dataset.path(f"dev/{side}.txt")) for side in schema.SIDES)
    assert (words[-2], symbols[-2]) == ("oh new", "(S UH (X NEW )X )S")
    assert len(words) == 22


def test_without_tags_every_word_is_xx(tmp_path: Path) -> None:
    config = configure(tmp_path, "out")
    treebank = dataclasses.replace(config.treebank, tree_tags=False)
    dataset = build(dataclasses.replace(config, treebank=treebank))
    assert all(symbol.startswith(("(", ")")) for symbol in symbols_of(dataset)[3:-1])
    pairs = dict(read_pairs(dataset, "train"))
    subject = "(NP (NP XX )NP XX (NP XX )NP )NP"
    symbols = pairs["horses and dogs run fast ."]
    assert symbols == f"(S (NP {subject} )NP (VP XX (S (ADVP XX )ADVP )S )VP XX )S"
    (reference, *_) = schema.read_lines(dataset.path("dev/target.txt"))
    assert "NNS" in reference  # scores read its punctuation


def test_the_command_tells_what_it_made_and_what_comes_next(tmp_path: Path) -> None:
    write_treebank(tmp_path / "x.mrg.gz")
    output = succeed(
        "pipeline.preprocess",
        f"--trees={tmp_path}/*.mrg.gz",
        "--vocabulary_size=310",
        f"--output_dir={tmp_path}/out",
    )
    assert "English → trees, 310 bpe subwords and 19 symbols" in output
    assert "--flagfile=configs/parsing.flags" in output


def test_the_subwords_of_a_dataset_serve_another(dataset: schema.Dataset, tmp_path: Path) -> None:
    models = tuple(dataset.path(dataset.vocabularies[side].path) for side in schema.SIDES)
    config = configure(tmp_path, "again", vocabulary_size=None, subwords_model=models)
    again = build(config)
    assert again.vocabularies == dataset.vocabularies
    shards = {name for name in contents(again.directory) if name.endswith("record")}
    assert shards and all(
        contents(again.directory)[name] == contents(dataset.directory)[name] for name in shards
    )
    swapped = dataclasses.replace(
        config, output_dir=str(tmp_path / "no"), subwords_model=models[::-1]
    )
    with pytest.raises(UserError, match="is not a SentencePiece model"):
        build(swapped)


def test_bpe_dropout_divides_words_and_no_symbol(tmp_path: Path) -> None:
    config = configure(tmp_path, "out", bpe_dropout=0.5, bpe_dropout_samples=3)
    dataset = build(config)
    assert len(read_pairs(dataset, "train")) == 3 * dataset.counts["train"]["kept"]


def test_a_broken_tree_is_one_line_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "x.mrg"
    path.write_text("(S (NN a))\n(S\n  (NN b)\n")
    error = refuse("pipeline.preprocess", f"--trees={path}", f"--output_dir={tmp_path}/out")
    assert error.startswith(f"error: {path}, line 2: the file ends inside the tree")
    assert not (tmp_path / "out").exists()


def test_trees_with_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="received --trees=t: expected no other pairs"):
        PreprocessConfig(
            treebank=TreebankConfig(trees=("t",)), source_files=("a",), target_files=("b",)
        )
    with pytest.raises(ValueError, match="--trees=t: expected no --target_language=de"):
        PreprocessConfig(treebank=TreebankConfig(trees=("t",)), target_language="de")
    sharing = SharingConfig(tags=("<x>",), source_tag="<x>")
    with pytest.raises(ValueError, match="expected no --source_tag=<x>, which no tree contains"):
        PreprocessConfig(treebank=TreebankConfig(trees=("t",)), sharing=sharing)


def test_the_card_shows_trees(dataset: schema.Dataset) -> None:
    text = card.format_card(dataset, samples=1)
    assert "310 bpe subwords and 22 symbols" in text
    assert "(NP" in text.partition("Samples of train")[2]
