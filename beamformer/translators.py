"""Trained models as objects: translate, score, evaluate, look at attention."""

import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from beamformer.arguments import check_names, make_config, override_config
from beamformer.evaluations import Evaluation
from beamformer.pages import AttentionPage
from beamformer.session import as_guest, start
from model.config import AlignmentConfig, SearchConfig
from pipeline.common.errors import UserError
from trainer.evaluation.driver import EvaluationConfig, evaluate_run, write_evaluation
from trainer.exporters.result import read_languages
from trainer.exporters.saved_model_files import fetch_saved_model, is_saved_model
from trainer.runs.run_directory import Run, load_run
from trainer.runs.trained_model import TrainedModels

if TYPE_CHECKING:
    from trainer.inference.batching import Translate
    from trainer.inference.scoring import ScoredPair
    from trainer.inference.translations import Translation
    from trainer.inference.translator import Translator
    from trainer.runs.checkpoint_files import Checkpoint

_DEFAULT_ALIGNMENT = AlignmentConfig()


def load(path: str | os.PathLike[str], **settings: Any) -> "TrainedTranslator | ExportedTranslator":
    """Loads a run directory, or a SavedModel that `trainer.export` wrote.

    Args:
        path: the directory; of a SavedModel also a URL.
        settings: for a run, `checkpoint`, `ensemble`, `alignment_layer` and the fields of
            `SearchConfig`, whose defaults are the run's own. A SavedModel takes none: its search is
            fixed.

    Raises:
        UserError: there is no such model, or an argument cannot be used.
    """
    directory = os.fspath(path)
    if not is_saved_model(directory):
        return load_trained(directory, settings)
    if settings:
        raise UserError(
            f"received --saved_model and --{next(iter(settings))}: which weights and how to search "
            "was fixed by trainer.export; leave one out, or export again"
        )
    return ExportedTranslator(directory)


def load_trained(run_dir: str, settings: Mapping[str, Any]) -> "TrainedTranslator":
    """Loads a run directory; see `load`."""
    check_names(settings, TrainedModels, SearchConfig, AlignmentConfig)
    models = make_config(TrainedModels, {**settings, "run_dir": run_dir})
    run = load_run(models.run_dir)
    alignment = make_config(AlignmentConfig, settings)
    return TrainedTranslator(run, models, override_config(run.search, settings), alignment)


class TrainedTranslator:
    """The translator of a run directory.

    Attributes:
        run: the configuration of the run.
        models: which weights are loaded.
        search: how it translates.
    """

    def __init__(
        self,
        run: Run,
        models: TrainedModels,
        search: SearchConfig,
        alignment: AlignmentConfig = _DEFAULT_ALIGNMENT,
    ) -> None:
        """Loads the weights."""
        self.run = run
        self.models = models
        self.search = search
        start(for_search=True)
        from trainer.inference.aligning_translator import AligningTranslator
        from trainer.inference.translator import load_translator

        self._translator: Translator
        self._checkpoint: Checkpoint
        self._translator, self._checkpoint = load_translator(
            run, models, search, alignment=alignment
        )
        self._aligning = AligningTranslator(self._translator)

    def __repr__(self) -> str:
        data = self.run.data
        return (
            f"<{type(self).__name__} {data.source_language}→{data.target_language}, "
            f"{self.run.directory}, step {self._checkpoint.step}>"
        )

    def translate(
        self,
        sentences: Sequence[str],
        prefixes: Sequence[str] | None = None,
        *,
        alignments: bool = False,
    ) -> "list[Translation]":
        """Translates any number of sentences.

        Args:
            sentences: the source sentences.
            prefixes: the beginning of each translation.
            alignments: whether to align words; not with prefixes.

        Returns:
            A translation of each, with `text`, `score` (log-probability in nats divided by the
            length penalty) and, with n_best above 1, `n_best`. Aligned ones have `alignment`, the
            links of words, source then target, and `word_confidence`, the probability of each word.
        """
        from trainer.inference.batching import translate_all

        _check_alignments(prefixes, alignments)
        translator = self._aligning if alignments else self._translator
        if prefixes is None:
            one = self.search.n_best == 1
            translate = translator.translate if one else translator.translate_nbest
            return translate_all(translate, _texts(sentences))
        if self.search.n_best > 1:
            raise UserError(
                f"received prefixes and --n_best={self.search.n_best}: expected --n_best=1; a "
                "translation with a prefix is one alone"
            )
        texts = _check_pairs(sentences, prefixes)
        return translate_all(self._translator.translate_with_prefix, *texts)

    def translate_text(self, text: str) -> str:
        """Translates running text, sentence by sentence; requires `.[sentences]`.

        Args:
            text: of any length, a paragraph in each line; blank lines stay as they are.
        """
        languages = self.run.data.source_language, self.run.data.target_language
        return _translate_text(self._translator.translate, text, languages)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> "list[ScoredPair]":
        """Scores given translations, without search.

        Args:
            sources: sentences.
            targets: a translation of each.

        Returns:
            For each `log_prob` in nats, `score` (with the length penalty), and its `tokens` and
            `token_log_probs`.
        """
        from trainer.inference.scoring import score_all

        pairs = _check_pairs(sources, targets)
        return list(score_all(self._translator, self.run.subwords_path("target"), *pairs))

    def evaluate(self, split: str = "test", **settings: Any) -> Evaluation:
        """Translates a test set and scores it, as `trainer.evaluate` does, and writes its files.

        Args:
            split: dev or test of the dataset, or a named test set.
            settings: fields of `EvaluationConfig`, the flags of `trainer.evaluate`.
        """
        check_names(settings, EvaluationConfig)
        config = make_config(EvaluationConfig, {**settings, "split": (split,)})
        with as_guest():
            (evaluation,) = evaluate_run(self.run, self.models, self.search, config)
            write_evaluation(config.results_dir(self.run), evaluation)
        return Evaluation(*evaluation)

    def attention(self, *sentences: str) -> AttentionPage:
        """Translates sentences and returns a page with every layer and head, for a notebook."""
        from trainer.inference.sentence_attention import attend_to_sentences
        from trainer.pages.attention_viewer import attention_page

        attention = attend_to_sentences(self.run, self._translator, _texts(sentences))
        name, step = self.run.directory.name, self._checkpoint.step
        return AttentionPage(attention_page(attention, name=name, step=step), attention)


class ExportedTranslator:
    """The translator of a SavedModel.

    Attributes:
        directory: where it is.
    """

    def __init__(self, directory: str) -> None:
        """Loads the SavedModel."""
        self.directory = directory
        start(for_search=True)
        from trainer.exporters import saved_model

        self._signature = functools.cache(
            functools.partial(saved_model.load_saved_model, directory)
        )
        self._translate = self._signature(saved_model.DEFAULT_SIGNATURE)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.directory}>"

    def translate(
        self,
        sentences: Sequence[str],
        prefixes: Sequence[str] | None = None,
        *,
        alignments: bool = False,
    ) -> "list[Translation]":
        """Translates any number of sentences; see `TrainedTranslator.translate`."""
        from trainer.exporters.saved_model import WITH_ALIGNMENTS, WITH_PREFIX
        from trainer.inference.batching import translate_all

        _check_alignments(prefixes, alignments)
        if alignments:
            return translate_all(self._signature(WITH_ALIGNMENTS), _texts(sentences))
        if prefixes is None:
            return translate_all(self._translate, _texts(sentences))
        return translate_all(self._signature(WITH_PREFIX), *_check_pairs(sentences, prefixes))

    def translate_text(self, text: str) -> str:
        """Translates running text, sentence by sentence; requires `.[sentences]`.

        Args:
            text: of any length, a paragraph in each line; blank lines stay as they are.
        """
        languages = read_languages(fetch_saved_model(self.directory))
        return _translate_text(self._translate, text, languages)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> "list[ScoredPair]":
        """Scores given translations; a SavedModel does not tell their tokens."""
        from trainer.inference.scoring import ScoredPair

        score = self._signature("score")
        scored = []
        pairs = _check_pairs(sources, targets)
        for start_row in range(0, len(sources), _PAIRS_PER_BATCH):
            rows = slice(start_row, start_row + _PAIRS_PER_BATCH)
            outputs = score(text=pairs[0][rows], translation=pairs[1][rows])
            columns = (outputs[name].numpy().tolist() for name in ("log_probability", "score"))
            for log_prob, value in zip(*columns, strict=True):
                scored.append(ScoredPair(log_prob, value, [], []))
        return scored


_PAIRS_PER_BATCH = 64


def _translate_text(translate: "Translate", text: str, languages: tuple[str, str]) -> str:
    from trainer.inference.batching import translate_all
    from trainer.inference.documents import load_splitter, translate_documents

    source, target = languages
    document = translate_documents(translate, load_splitter(source), target)
    return "\n".join(line.text for line in translate_all(document, text.split("\n")))


def _check_alignments(prefixes: Sequence[str] | None, alignments: bool) -> None:
    if alignments and prefixes is not None:
        raise UserError(
            "received --alignments=True and prefixes: expected one of them; what follows a prefix "
            "is not aligned"
        )


def _texts(sentences: Sequence[str]) -> list[str]:
    """Returns sentences as a list.

    Raises:
        UserError: it is a single string, or holds something else than strings.
    """
    texts = [sentences] if isinstance(sentences, str) else list(sentences)
    if isinstance(sentences, str) or not all(isinstance(text, str) for text in texts):
        raise UserError(f"received {sentences!r:.60}: expected a list of strings, one per sentence")
    return texts


def _check_pairs(sentences: Sequence[str], others: Sequence[str]) -> tuple[list[str], list[str]]:
    pair = _texts(sentences), _texts(others)
    if len(pair[0]) != len(pair[1]):
        raise UserError(
            f"received {len(pair[0])} sentences and {len(pair[1])} strings for them: expected as "
            "many of each"
        )
    return pair
