"""Evaluating a run: reads the test sets, translates and scores them, writes the results.

What is read before TensorFlow starts is read first: a mistake is reported within a second.
"""

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from absl import logging

from model.config import SearchConfig
from pipeline.common.errors import UserError
from pipeline.common.settings import as_flags, require, require_choice, require_range, setting
from pipeline.common.storage import is_url, write_atomically
from pipeline.corpora.catalog import CACHE_DIR
from pipeline.dataset.schema import Dataset
from trainer.evaluation.parsing import score_parses
from trainer.evaluation.read_test_set import (
    EvaluationSet,
    GivenFiles,
    read_baseline,
    read_test_set,
)
from trainer.evaluation.result import (
    CorpusScores,
    EvaluatedWeights,
    EvaluationResult,
    TranslatedSentence,
    format_translations,
    result_path,
    translations_path,
)
from trainer.runs.run_dataset import check_dataset, load_run_dataset
from trainer.runs.run_directory import Run
from trainer.runs.trained_model import TrainedModels
from trainer.runtime.startup import start_tensorflow


@dataclasses.dataclass(frozen=True)
class EvaluationConfig:
    """What to evaluate on, and what to compare with.

    Raises:
        ValueError: if a value is out of range.
    """

    split: tuple[str, ...] = setting(
        ("test",),
        "Test sets: dev or test of the dataset, or named ones, such as newstest2014, "
        "newstest2014_filtered or multi30k_test2016, or those of sacreBLEU, such as "
        "sacrebleu:wmt14/full, from its cache or its addresses.",
    )
    source_file: str | None = setting(
        None,
        "UTF-8 text to translate, one sentence per line, instead of what the one name in --split "
        "means.",
    )
    reference_files: tuple[str, ...] = setting(
        (),
        "References of --source_file, or further ones of the one test set in --split; several are "
        "scored together.",
    )
    dataset_dir: str | None = setting(
        None, "Dataset directory; the one that the run was trained on if not given."
    )
    cache_dir: str = setting(
        CACHE_DIR, "Folder for downloads of named test sets; the same as pipeline.preprocess's."
    )
    resamples: int = setting(
        1000,
        "Bootstrap resamples of the sentences for 95 % confidence intervals and significance; 0 "
        "for neither.",
    )
    tokenize: Literal["13a", "intl", "char", "zh", "none"] = setting(
        "13a",
        "SacreBLEU's tokenizer for BLEU: zh for Chinese, char for languages without spaces, none "
        "for text that was tokenised before preprocessing.",
    )
    baseline_run_dir: str | None = setting(
        None,
        "Run that was evaluated on the same test sets, or the output directory of that; the "
        "significance of the difference is tested by paired bootstrap resampling.",
    )
    robustness: bool = setting(
        False,
        "Also translate the test set in upper case, in title case, with typos, without end marks, "
        "with emoji and with tags to be copied; BLEU of each.",
    )
    comet: str | None = setting(
        None,
        "COMET model to score with as well, such as Unbabel/wmt22-comet-da, or a checkpoint.",
    )
    comet_python: str = setting(
        "python",
        "Python of an environment with unbabel-comet; it requires other versions of NumPy and "
        "protobuf than TensorFlow, so that is another environment than this one.",
    )
    output_dir: str | None = setting(
        None,
        "Directory for evaluation-NAME.json and evaluation-NAME.jsonl; the run directory, where "
        "trainer.report finds them, if not given.",
    )

    def __post_init__(self) -> None:
        require_range(self, "resamples", at_least=0)
        require(self.resamples != 1, "0 or at least 2", as_flags(self, "resamples"))
        require_choice(self, "tokenize")
        require(
            len(self.split) == 1 or not (self.source_file or self.reference_files),
            "one test set, which the files belong to",
            as_flags(self, "split"),
        )
        require(
            bool(self.reference_files) or not self.source_file,
            "--reference_files as well: the translations of its lines",
            as_flags(self, "source_file"),
        )
        require(
            self.resamples > 0 or not self.baseline_run_dir,
            "resamples of at least 2, for the significance of the difference",
            as_flags(self, "baseline_run_dir", "resamples"),
        )
        require(
            not is_url(self.output_dir or ""),
            "a folder of a file system; copy what is written there into the store afterwards",
            as_flags(self, "output_dir"),
        )

    def results_dir(self, run: Run) -> Path:
        """Returns where the results go: `output_dir`, by default the run directory."""
        return Path(self.output_dir) if self.output_dir else run.directory


class Evaluation(NamedTuple):
    """A result, and the rows of evaluation-NAME.jsonl."""

    result: EvaluationResult
    rows: list[TranslatedSentence]


def evaluate_run(
    run: Run, models: TrainedModels, search: SearchConfig, config: EvaluationConfig
) -> Iterator[Evaluation]:
    """Translates and scores the test sets, one by one.

    Args:
        run: that of `models`, the first of an ensemble.
        models: which weights.
        search: how to translate.
        config: on what, how to score, and where the results go.

    Raises:
        UserError: a test set, a baseline's translations or a checkpoint is missing, the dataset
            has other subwords than the run, or the results cannot be written.
    """
    dataset = load_run_dataset(run, config.dataset_dir)
    check_dataset(run, dataset)
    if config.robustness and dataset.has_trees:
        raise UserError(
            f"received {as_flags(config, 'robustness')}: expected a dataset of text; a changed "
            "sentence has no tree to compare with"
        )
    _require_writable(config.results_dir(run))
    test_sets = {name: _read_test_set(name, dataset, config) for name in config.split}

    start_tensorflow(for_search=True)
    from trainer.evaluation.robustness import score_variants
    from trainer.evaluation.test_sets import evaluate_loss, translate_set
    from trainer.inference.translator import load_translator
    from trainer.runtime.error_messages import explain_dataset_errors

    translator, checkpoint = load_translator(run, models, search)
    weights = EvaluatedWeights(
        step=checkpoint.step,
        averaged_steps=tuple(checkpoint.sources),
        ensemble=models.ensemble,
        train_seconds=round(checkpoint.train_seconds, 1),
        dataset=dataset.fingerprint,
    )
    for name, test_set in test_sets.items():
        losses = {}
        if name in dataset.splits and not config.source_file:
            with explain_dataset_errors(dataset):
                losses = evaluate_loss(translator.models, dataset, name)
        rows = translate_set(
            translator, test_set.source, test_set.references[0], source_tag=dataset.source_tag
        )
        scores = _score(test_set, rows, config, dataset)
        if config.robustness:
            robustness = score_variants(translator, dataset, test_set, config.tokenize)
            scores = dataclasses.replace(scores, robustness=robustness)
        yield Evaluation(EvaluationResult(name, len(rows), scores, weights, search, **losses), rows)


def _score(
    test_set: EvaluationSet,
    rows: list[TranslatedSentence],
    config: EvaluationConfig,
    dataset: Dataset,
) -> CorpusScores:
    """Scores the trees of a parser, or translations."""
    if dataset.has_trees:
        return score_parses(rows, test_set.baseline, resamples=config.resamples)
    translations = [row.translation for row in rows]
    return score_translations(test_set, translations, config, language=dataset.target_language)


def write_evaluation(directory: Path, evaluation: Evaluation) -> None:
    """Writes evaluation-NAME.json and evaluation-NAME.jsonl."""
    result, rows = evaluation
    table = json.dumps(result.to_json(), indent=1) + "\n"
    for path, text in (
        (translations_path(directory, result.split), format_translations(rows)),
        (result_path(directory, result.split), table),
    ):
        write_atomically(str(path), text.encode())
        logging.info("written: %s", path)


def score_translations(
    test_set: EvaluationSet, translations: Sequence[str], config: EvaluationConfig, *, language: str
) -> CorpusScores:
    """Scores translations of a test set by every metric, and compares them with the baseline's."""
    from trainer.evaluation import comet
    from trainer.evaluation.metrics import compare_corpora, score_by_length, score_corpus

    source, references, baseline = test_set
    tokenizer, resamples = config.tokenize, config.resamples
    metrics = score_corpus(
        translations, references, language=language, bleu_tokenizer=tokenizer, resamples=resamples
    )
    if config.comet:
        metrics["comet"] = comet.score(
            source, translations, references[0], model=config.comet, python=config.comet_python
        )
    by_length = score_by_length(source, translations, references, bleu_tokenizer=tokenizer)
    scores = CorpusScores(metrics, tuple(by_length))
    if baseline is None:
        return scores
    beside_baseline = compare_corpora(
        translations,
        baseline,
        references,
        language=language,
        bleu_tokenizer=tokenizer,
        resamples=resamples,
    )
    return dataclasses.replace(scores, beside_baseline=beside_baseline)


def _require_writable(directory: Path) -> None:
    """Makes a missing directory, and checks that files can be written there before any work."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise UserError(
            f"cannot write to {directory}: {error.strerror}; set another --output_dir"
        ) from error


def _read_test_set(name: str, dataset: Dataset, config: EvaluationConfig) -> EvaluationSet:
    given = GivenFiles(config.source_file, config.reference_files)
    test_set = read_test_set(name, dataset, given, cache_dir=config.cache_dir)
    if not config.baseline_run_dir:
        return test_set
    baseline = read_baseline(config.baseline_run_dir, name, test_set.source)
    return test_set._replace(baseline=baseline)
