"""Compares CTranslate2's translations of a run's model with ours.

    python -m tests.benchmarks.ctranslate2_agreement runs/demo data/demo/test/source.txt

Prints the share of sentences translated to the same text, by search and type of weights, and
writes JSON. Requires `pip install '.[ctranslate2]'`.
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece

from pipeline.dataset.schema import read_lines
from tests.benchmarks.record import output_flag, write_record
from trainer.exporters.ctranslate2 import save_ctranslate2
from trainer.inference.batching import translate_all
from trainer.inference.translator import load_translator
from trainer.runs.run_directory import load_run
from trainer.runs.trained_model import TrainedModel

SEARCHES = ((1, 0.0), (4, 0.0), (4, 0.6))  # beam size, length penalty
WEIGHTS = ("float32", "int8")


def main() -> None:
    """Translates the text in all ways, prints a line for each and writes JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run_dir", help="run directory of a trained model")
    parser.add_argument("text", help="source sentences, one per line")
    output_flag(parser, "ctranslate2_agreement")
    arguments = parser.parse_args()
    shares = compare(arguments.run_dir, read_lines(arguments.text))
    write_record("ctranslate2_agreement", arguments, {"same_text": shares})


def compare(run_dir: str, sentences: list[str]) -> list[dict[str, Any]]:
    """Returns the share of equal translations for each search and type of weights."""
    run, shares = load_run(run_dir), []
    processors = {
        side: sentencepiece.SentencePieceProcessor(model_file=str(run.subwords_path(side)))
        for side in ("source", "target")
    }
    pieces = processors["source"].encode(sentences, out_type=str)
    engines = make_engines(run_dir)
    for beam_size, length_penalty in SEARCHES:
        search = dataclasses.replace(run.search, beam_size=beam_size, length_penalty=length_penalty)
        translator, _ = load_translator(run, TrainedModel(), search)
        ours = [translation.text for translation in translate_all(translator.translate, sentences)]
        for weights, engine in engines.items():
            results = engine.translate_batch(
                pieces,
                beam_size=beam_size,
                length_penalty=length_penalty,
                max_batch_size=64,
                suppress_sequences=[["<pad>"]],
            )
            theirs = [processors["target"].decode(result.hypotheses[0]) for result in results]
            same = sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)
            print(f"beam {beam_size}, penalty {length_penalty}, {weights}: {same:.1%} the same")
            setting = {"beam_size": beam_size, "length_penalty": length_penalty}
            shares.append({**setting, "weights": weights, "share": same})
    return shares


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
    main()
