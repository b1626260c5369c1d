"""Scores a trained model on test sets: BLEU, chrF and TER by beam search; loss and perplexity.

    python -m trainer.evaluate --run_dir=runs/demo --split=test
    python -m trainer.evaluate --run_dir=runs/base --split=test,newstest2014_filtered
    python -m trainer.evaluate --run_dir=runs/b --baseline_run_dir=runs/a

For each test set prints a table and writes evaluation-NAME.json (scores, signatures, confidence
intervals, scores by length) and evaluation-NAME.jsonl (source, reference, translation and score of
every sentence) into the run directory.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

from absl import logging

from model.config import SearchConfig
from pipeline.common import cli
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, require_choice, require_range, setting
from pipeline.common.storage import write_atomically
from pipeline.corpora.catalog import CACHE_DIR, evaluation_part, fetch_part
from pipeline.corpora.inputs import Text
from pipeline.dataset.schema import Dataset, load_dataset
from trainer.config import TrainedModels
from trainer.data.raw_text import read_text
from trainer.runs.run_directory import check_dataset, load_run
from trainer.runtime.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class EvaluationConfig:
    """What to evaluate on, and beside what.

    Raises:
        ValueError: if a value is out of range.
    """

    split: tuple[str, ...] = setting(
        ("test",),
        "Test sets: dev or test of the dataset, or named ones, such as newstest2014, "
        "newstest2014_filtered or multi30k_test2016.",
    )
    dataset_dir: str | None = setting(
        None, "Dataset directory; that which the run was trained on when not given."
    )
    cache_dir: str = setting(
        CACHE_DIR, "Folder of named test sets' downloads; that of pipeline.preprocess."
    )
    resamples: int = setting(
        1000,
        "Resamples of the sentences for 95 % confidence intervals and significance (bootstrap); 0 "
        "for neither.",
    )
    tokenize: Literal["13a", "intl", "char", "zh", "none"] = setting(
        "13a",
        "SacreBLEU's tokenisation for BLEU: zh for Chinese, char for languages without spaces, "
        "none for text that was tokenised before preprocessing.",
    )
    baseline_run_dir: str | None = setting(
        None,
        "Run that was evaluated on the same test sets: tells by paired bootstrap resampling how "
        "significant the difference is.",
    )

    def __post_init__(self) -> None:
        require_range(self, "resamples", at_least=0)
        require(self.resamples != 1, "0 or at least 2", as_flags(self, "resamples"))
        require_choice(self, "tokenize")
        require(
            self.resamples > 0 or not self.baseline_run_dir,
            "resamples of at least 2, for the significance of the difference",
            as_flags(self, "baseline_run_dir", "resamples"),
        )


def main(_: list[str]) -> None:
    """Reads the flags, evaluates, prints and writes the scores."""
    model = cli.config_from_flags(TrainedModels)
    config = cli.config_from_flags(EvaluationConfig)
    run = load_run(model.run_dir)
    search = cli.override_from_flags(run.search)
    dataset = load_dataset(config.dataset_dir or run.training.dataset_dir)
    check_dataset(run, dataset)
    texts = {name: _read(name, dataset, config.cache_dir) for name in config.split}
    baselines = {
        name: _read_baseline(config.baseline_run_dir, name, source)
        for name, (source, _) in texts.items()
        if config.baseline_run_dir
    }

    start_tensorflow(for_search=True)
    from trainer.evaluation.test_sets import evaluate_loss, translate_set
    from trainer.inference.translator import load_translator
    from trainer.runtime.damage import damage_explained

    translator, checkpoint = load_translator(run, model, search)
    about = {
        "step": checkpoint.step,
        "averaged_steps": list(checkpoint.sources),
        "ensemble": list(model.ensemble),
        "train_seconds": round(checkpoint.train_seconds, 1),
        "dataset": dataset.fingerprint,
        **dataclasses.asdict(search),
    }
    for name, (source, references) in texts.items():
        losses = {}
        if name in dataset.splits:
            with damage_explained(dataset):
                losses = evaluate_loss(translator.models, dataset, name)
        rows = translate_set(translator, source, references)
        scores = _score(rows, config, run.data["target_language"], baselines.get(name))
        result = {"split": name, **scores, **losses, **about}
        base = f"{model.run_dir}/evaluation-{name}"
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        _print(result)  # first, should there be no room for the files
        write_atomically(f"{base}.jsonl", lines.encode())
        write_atomically(f"{base}.json", (json.dumps(result, indent=1) + "\n").encode())
        logging.info("written: %s.json, %s.jsonl", base, base)


def _read(name: str, dataset: Dataset, cache_dir: str) -> tuple[list[str], list[str]]:
    """Returns the raw source and reference lines of a test set."""
    if name in ("dev", "test"):
        return read_text(dataset, name)
    languages = dataset.source_language, dataset.target_language
    try:
        part = evaluation_part(name, *languages)
    except UserError as error:
        raise UserError(f"--split: {error}, or dev or test of the dataset") from error
    texts = fetch_part(part, *languages, cache_dir)
    return _lines(texts.source), _lines(texts.target)


def _lines(text: Text) -> list[str]:
    return [line.decode().rstrip("\r\n") for line in text.read()]


def _read_baseline(run_dir: str, name: str, source: list[str]) -> list[str]:
    """Returns the translations of a test set that the evaluation of another run left."""
    path = Path(run_dir) / f"evaluation-{name}.jsonl"
    if not path.exists():
        raise UserError(
            f"no {path}: evaluate the baseline first with "
            f"python -m trainer.evaluate --run_dir={run_dir} --split={name}"
        )
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    if [row["source"] for row in rows] != source:
        raise UserError(
            f"{path} is of another test set than {name} of this dataset: evaluate again"
        )
    return [row["translation"] for row in rows]


def _score(
    rows: list[dict[str, Any]],
    config: EvaluationConfig,
    language: str,
    baseline: list[str] | None,
) -> dict[str, Any]:
    """Scores translations in every way, as JSON values."""
    from trainer.evaluation.metrics import compare_corpora, score_by_length, score_corpus

    source, references, translations = (
        [row[key] for row in rows] for key in ("source", "reference", "translation")
    )
    tokenize, resamples = config.tokenize, config.resamples
    metrics = score_corpus(
        translations, references, language=language, bleu_tokenizer=tokenize, resamples=resamples
    )
    by_length = score_by_length(source, translations, references, bleu_tokenizer=tokenize)
    values: dict[str, Any] = {
        "sacrebleu": metrics["bleu"].score,
        "signature": metrics["bleu"].signature,
        "sentences": len(rows),
        "metrics": {name: dataclasses.asdict(each) for name, each in metrics.items()},
        "bleu_by_length": [dataclasses.asdict(each) for each in by_length],
    }
    if baseline is not None:
        compared = compare_corpora(
            translations,
            baseline,
            references,
            language=language,
            bleu_tokenizer=tokenize,
            resamples=resamples,
        )
        values["beside_baseline"] = {
            name: dataclasses.asdict(each) for name, each in compared.items()
        }
    return values


def _print(result: dict[str, Any]) -> None:
    """Logs a result as a table."""
    for name, value in result.items():
        if not isinstance(value, dict | list) or name == "averaged_steps":
            logging.info("%-18s %s", name, f"{value:.4f}" if isinstance(value, float) else value)
    for name, each in result["metrics"].items():
        interval = "" if each["low"] is None else f"  {each['low']:.2f} to {each['high']:.2f}"
        logging.info("%-18s %.2f%s  %s", name, each["score"], interval, each["signature"])
    for each in result["bleu_by_length"]:
        words = f"{each['shortest']} to {each['longest'] or '…'} words"
        logging.info("%-18s %.2f  %s sentences", words, each["bleu"], each["sentences"])
    for name, each in result.get("beside_baseline", {}).items():
        change, p_value = each["score"] - each["baseline"], each["p_value"]
        logging.info("%-18s %+.2f beside the baseline, p = %.4f", name, change, p_value)


if __name__ == "__main__":
    for config in (TrainedModels, EvaluationConfig, SearchConfig):
        cli.define_flags(config)
    cli.run(main)
