"""Robustness: BLEU of a test set whose sentences are changed as users write."""

from pipeline.common.text_variants import VARIANTS, vary
from pipeline.dataset.schema import Dataset
from trainer.evaluation.metrics import score_bleu_alone
from trainer.evaluation.read_test_set import EvaluationSet
from trainer.evaluation.test_sets import translate_set
from trainer.inference.translator import Translator


def score_variants(
    translator: Translator, dataset: Dataset, test_set: EvaluationSet, bleu_tokenizer: str
) -> dict[str, float]:
    """Translates and scores a test set in each of `VARIANTS`.

    Args:
        translator: the model.
        dataset: its tag is put before each sentence.
        test_set: source and references, both of which variants change.
        bleu_tokenizer: sacreBLEU's tokenizer.

    Returns:
        BLEU by the name of the variant.
    """
    scores = {}
    for name in VARIANTS:
        varied = [
            [vary(name, *pair) for pair in zip(test_set.source, references, strict=True)]
            for references in test_set.references
        ]
        source = [pair.source for pair in varied[0]]
        targets = [[pair.target for pair in pairs] for pairs in varied]
        rows = translate_set(translator, source, targets[0], source_tag=dataset.source_tag)
        translations = [row.translation for row in rows]
        scores[name] = score_bleu_alone(translations, targets, bleu_tokenizer=bleu_tokenizer)
    return scores
