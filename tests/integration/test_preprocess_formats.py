"""The same pairs in another form make the same shards; real corpora come through whole."""

import gzip
import shutil
from pathlib import Path

import pytest

from pipeline.corpora.blocks import cut_blocks, read_span
from pipeline.corpora.corpus_config import CorpusConfig
from pipeline.corpora.inputs import file_texts, table_files
from pipeline.corpora.readers import Columns
from pipeline.dataset import schema
from tests.helpers.commands import succeed
from tests.helpers.preprocessing import ROOT, build, configure, contents, preprocess_flags

DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")


def shards(directory: str | Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(directory).items() if name.endswith("record")}


def test_pairs_make_the_same_shards_in_any_form(tmp_path: Path) -> None:
    plain = configure(tmp_path, "plain")
    texts = [schema.read_lines(files[0]) for files in (plain.source_files, plain.target_files)]
    rows = "".join(f"{source}\t{target}\r\n" for source, target in zip(*texts, strict=True))
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(rows.encode("utf-16")))
    corpus = CorpusConfig(pair_files=(str(tmp_path / "x.tsv.gz"),), encoding=("utf-16",))
    table = configure(tmp_path, "table", source_files=(), target_files=(), corpus=corpus)
    build(plain)
    dataset = build(table)
    assert shards(plain.output_dir) == shards(table.output_dir) != {}
    assert (dataset.name, dataset.corpora[0].lines) == ("x.tsv.gz", len(texts[0]))


def test_a_table_is_given_by_flags(tmp_path: Path) -> None:
    plain = configure(tmp_path, "plain")
    texts = [schema.read_lines(files[0]) for files in (plain.source_files, plain.target_files)]
    rows = "".join(f"{target}\t0\t{source}\n" for source, target in zip(*texts, strict=True))
    (tmp_path / "x.tsv").write_text(f"de\tscore\ten\n{rows}")
    flags = {"source_files": "", "target_files": "", "pair_files": str(tmp_path / "x.tsv")}
    flags |= {"source_column": "en", "target_column": "de", "output_dir": str(tmp_path / "table")}
    build(plain)
    succeed("pipeline.preprocess", *preprocess_flags(plain, **flags))
    assert shards(plain.output_dir) == shards(tmp_path / "table")


@needs_data
@pytest.mark.parametrize("languages", [("en", "fr"), ("fr", "en")])
def test_multi30k_by_name_from_files_put_there_by_hand(
    tmp_path: Path, languages: tuple[str, str]
) -> None:
    from pipeline.corpora.catalog import evaluation_part, fetch_part

    part = evaluation_part("multi30k_val", *languages)
    for code in languages:
        place = tmp_path / part.files[code].download.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / "multi30k" / f"val.{code}.gz", place)
    texts = fetch_part(part, *languages, str(tmp_path))
    blocks, (corpus,) = cut_blocks("dev", [texts], 2000, str(tmp_path))
    assert corpus.lines == part.pairs == 1014
    first = {"en": "A group of men are loading", "fr": "Un groupe d'hommes chargent"}
    spans = (blocks[0].source, blocks[0].target)
    for code, span in zip(languages, spans, strict=True):
        assert read_span(span)[0].startswith(first[code])


@needs_data
def test_mixed_encodings_with_carriage_returns(tmp_path: Path) -> None:
    folder = DATA / "europarl-comtrans"
    files = [[str(folder / f"comtrans.{name}.gz")] for name in ("latin1.en", "utf8.de")]
    texts = file_texts(files[0], files[1], ("latin-1", "utf-8"))
    blocks, (corpus,) = cut_blocks("train", texts, 30_000, str(tmp_path))
    lines = read_span(blocks[0].source) + read_span(blocks[0].target)
    assert (corpus.lines, len(lines)) == (23_580, 2 * 23_580)
    assert not any("\r" in line or "\ufffd" in line for line in lines)
    assert any("é" in line for line in lines[:23_580])


@needs_data
@pytest.mark.parametrize(("name", "pairs"), [("deu-eng.2018-05-13", 169_813)])
def test_a_table_of_tatoeba(tmp_path: Path, name: str, pairs: int) -> None:
    table = table_files([str(DATA / "tatoeba" / f"{name}.tsv.gz")], Columns(("en", "de")), "utf-8")
    blocks, (corpus,) = cut_blocks("train", table, 200_000, str(tmp_path))
    assert corpus.lines == pairs == len(read_span(blocks[0].target))


@needs_data
def test_a_next_line_character_inside_a_news_test_is_text(tmp_path: Path) -> None:
    files = [[str(DATA / "wmt-news" / f"newssyscomb2009.{code}.gz")] for code in ("en", "de")]
    blocks, (corpus,) = cut_blocks("dev", file_texts(files[0], files[1]), 502, str(tmp_path))
    lines = read_span(blocks[0].target)
    assert (corpus.lines, len(lines)) == (502, 502)
    assert [number for number, line in enumerate(lines, 1) if "\u0085" in line] == [302, 309]
