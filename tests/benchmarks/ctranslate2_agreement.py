"""Compares CTranslate2's translations of a run's model with ours.

    python -m tests.benchmarks.ctranslate2_agreement runs/demo data/demo/test/source.txt

Prints the share of sentences translated to the same text, by search and type of weights.
"""

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece

from pipeline.dataset.schema import read_lines
from trainer.config import TrainedModel
from trainer.exporters.ctranslate2 import save_ctranslate2
from trainer.inference.batching import translate_all
from trainer.inference.translator import load_translator
from trainer.runs.run_directory import load_run

SEARCHES = ((1, 0.0), (4, 0.0), (4, 0.6))  # beam size, length penalty
WEIGHTS = ("float32", "int8")


def main(run_dir: str, text: str) -> None:
    """Translates the text in all ways and prints a line for each."""
    run, sentences = load_run(run_dir), read_lines(text)
    processors = {
        side: sentencepiece.SentencePieceProcessor(model_file=str(run.subwords_path(side)))
        for side in ("source", "target")
    }
    pieces = processors["source"].encode(sentences, out_type=str)
    engines = make_engines(run_dir)
    for beam_size, length_penalty in SEARCHES:
        search = dataclasses.replace(run.search, beam_size=beam_size, length_penalty=length_penalty)
        translator, _ = load_translator(run, TrainedModel(), search)
        ours = [each.text for each in translate_all(translator.translate, sentences)]
        for weights, engine in engines.items():
            results = engine.translate_batch(
                pieces,
                beam_size=beam_size,
                length_penalty=length_penalty,
                max_batch_size=64,
                suppress_sequences=[["<pad>"]],
            )
            theirs = [processors["target"].decode(each.hypotheses[0]) for each in results]
            same = sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)
            print(f"beam {beam_size}, penalty {length_penalty}, {weights}: {same:.1%} the same")


def make_engines(run_dir: str) -> dict[str, Any]:
    """Exports the run's model in each type of weights and loads it."""
    import ctranslate2

    run, engines = load_run(run_dir), {}
    translator, _ = load_translator(run, TrainedModel(), run.search)
    with tempfile.TemporaryDirectory() as folder:
        for weights in WEIGHTS:
            directory = Path(folder, weights)
            save_ctranslate2(run, translator, directory, weights=weights)
            engines[weights] = ctranslate2.Translator(str(directory), compute_type=weights)
    return engines


if __name__ == "__main__":
    main(*sys.argv[1:3])
