"""The built-in English–German corpus, so that a machine without any data can run the main job.

A small grammar, written for this project, makes sentence pairs with what makes translation hard:
agreement of gender, case and number, verb-second and verb-last order, separable verbs, negation,
questions, subordinate and relative clauses, compounds. Each English sentence has one translation.

The flow: entry types (`words`) and entries (`lexicon.tsv`, read by `lexicon`), inflection
(`english`, `german`), syntax (`phrases`, `clauses`), content (`participants`, `actions`,
`sentences`, `compound_sentences`), splits (`corpus`).
"""

from pipeline.corpora.builtin.corpus import generate_pairs

__all__ = ["generate_pairs"]
