"""Ways to translate with one model: ours in process, our SavedModel, CTranslate2.

Imported after `start_tensorflow`.
"""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
from keras import ops

from model.config import SearchConfig, TransformerConfig
from model.search.search import Translations, search
from model.transformer import Transformer
from pipeline.dataset.schema import load_dataset
from tests.benchmarks.translation_times import Engine
from tests.benchmarks.workload import SENTENCES_PER_BATCH, THREADS, Size, Workload
from trainer.config import TrainingConfig
from trainer.exporters.ctranslate2 import save_ctranslate2
from trainer.exporters.saved_model import load_saved_model, save_translator
from trainer.inference.batching import translate_all
from trainer.inference.translator import load_translator, make_translator
from trainer.runs.run_directory import Run, load_run, open_run
from trainer.runs.trained_model import TrainedModel


class FixedLength(Transformer):
    """A model whose translations all have `length` tokens, so that it needs no training."""

    length: int

    def search(self, source: Any, config: SearchConfig, **_: Any) -> Translations:
        """Translates with the cache, as `Transformer.search` does."""
        return search(
            self.make_step(),
            self.start_search(source),
            length_limits=ops.full((ops.shape(source)[0],), self.length, dtype="int32"),
            config=config,
            source=source,
        )


@dataclasses.dataclass(frozen=True)
class Setup:
    """A model, and the length of its translations.

    length: tokens of every translation; 0 for as many as the model wants.
    """

    run: Run
    transformer: Transformer
    length: int

    def searching(self, beam_size: int) -> Run:
        """Returns the run with another beam size."""
        config = dataclasses.replace(
            self.run.search, beam_size=beam_size, min_length=max(self.length, 1)
        )
        return dataclasses.replace(self.run, search=config)


def untrained(size: Size, workload: Workload, run_dir: Path, length: int) -> Setup:
    """Makes a model with fresh weights, whose translations have `length` tokens."""
    dataset = load_dataset(workload.dataset)
    training = TrainingConfig(dataset_dir=str(workload.dataset), run_dir=str(run_dir))
    config = TransformerConfig(**size.architecture())
    run = open_run(config, training, SearchConfig(), dataset)
    return Setup(run, _fixed_length(config, run.data.vocabularies["target"].size, length), length)


def trained(run_dir: Path, length: int = 0) -> Setup:
    """Loads a run's model; without `length` its translations end where the model ends them."""
    run = load_run(run_dir)
    translator, _ = load_translator(run, TrainedModel(str(run_dir)), run.search)
    transformer = translator.transformer
    if length:
        weights = transformer.get_weights()
        transformer = _fixed_length(transformer.config, transformer.vocabulary_size, length)
        transformer.set_weights(weights)
    return Setup(run, transformer, length)


def _fixed_length(config: TransformerConfig, vocabulary_size: int, length: int) -> FixedLength:
    transformer = FixedLength(config, vocabulary_size)
    transformer.optimize_for_search()
    transformer.length = length
    return transformer


def in_process(setup: Setup, beam_size: int) -> Engine:
    """Translates as `trainer.evaluate` and `trainer.translate` do."""
    translator = make_translator(setup.searching(beam_size), setup.transformer)
    return lambda sentences: translate_all(translator.translate, sentences)


def export_saved_model(setup: Setup, directory: Path, weights: str, beam_size: int = 4) -> None:
    """Exports a SavedModel whose only signature is translation."""
    translator = make_translator(setup.searching(beam_size), setup.transformer)
    save_translator(translator, directory, weights=weights, signatures=["serving_default"])


def export_ctranslate2(setup: Setup, directory: Path, weights: str) -> None:
    """Exports for CTranslate2, with the lengths of translations in a file if they are fixed."""
    translator = make_translator(setup.run, setup.transformer)
    save_ctranslate2(setup.run, translator, directory, weights=weights)
    if setup.length:
        names = ("min_decoding_length", "max_decoding_length")
        (directory / "length.json").write_text(json.dumps(dict.fromkeys(names, setup.length)))


def saved_model(setup: Setup, beam_size: int, folder: Path) -> Engine:
    """Exports a SavedModel and loads it."""
    directory = folder / f"saved-model-{beam_size}"
    export_saved_model(setup, directory, "float32", beam_size)
    serve = load_saved_model(str(directory))
    return lambda sentences: translate_all(serve, sentences)


def ctranslate2(setup: Setup, beam_size: int, folder: Path, weights: str) -> Engine:
    """Exports for CTranslate2 and loads it: text to text, one batch per core, as ours."""
    import ctranslate2

    directory = folder / f"ctranslate2-{beam_size}-{weights}"
    translator = make_translator(setup.run, setup.transformer)
    save_ctranslate2(setup.run, translator, directory, weights=weights)
    engine = ctranslate2.Translator(
        str(directory), compute_type=weights, inter_threads=THREADS, intra_threads=1
    )
    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(setup.run.subwords_path("source"))
    )
    lengths = {"min_decoding_length": setup.length, "max_decoding_length": setup.length}

    def translate(sentences: Sequence[str]) -> list[str]:
        results = engine.translate_batch(
            processor.encode(list(sentences), out_type=str),
            beam_size=beam_size,
            length_penalty=setup.run.search.length_penalty,
            max_batch_size=SENTENCES_PER_BATCH,
            suppress_sequences=[["<pad>"]],
            **(lengths if setup.length else {}),
        )
        return processor.decode([result.hypotheses[0] for result in results])

    return translate


def make_all(setup: Setup, beam_size: int, folder: Path) -> dict[str, Engine]:
    """Returns all ways to translate with a model, ours first."""
    return {
        "ours, in process": in_process(setup, beam_size),
        "ours, SavedModel": saved_model(setup, beam_size, folder),
        "CTranslate2, float32": ctranslate2(setup, beam_size, folder, "float32"),
        "CTranslate2, int8": ctranslate2(setup, beam_size, folder, "int8"),
    }
