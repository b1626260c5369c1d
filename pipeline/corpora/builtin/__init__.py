"""The built-in English–German corpus, so that a machine without any data can run the main job.

A small grammar, written for this project, makes sentence pairs with what makes translation hard:
agreement of gender, case and number, verb-second and verb-last order, separable verbs, negation,
questions, subordinate and relative clauses, compounds. Each English sentence has one translation.

It flows from `words` (entry types) and the lexicon (`modifiers`, `nouns`, `things`, `verbs`)
through inflection (`english`, `german`), `phrases` and `clauses` to what is said (`participants`,
`actions`, `sentences`, `compound_sentences`) and how it is divided (`corpus`).
"""

from pipeline.corpora.builtin.corpus import generate_pairs

__all__ = ["generate_pairs"]
