"""Translates forty sentences that people type first, and counts the right translations.

    python -m tests.benchmarks.first_sentences --run_dir=runs/demo
    python -m tests.benchmarks.first_sentences --saved_model=runs/demo/saved_model

Takes the flags of trainer.translate. Prints each wrong translation, then the count as JSON.
"""

import json
import subprocess
import sys

from tests.pipeline.corpora.builtin.first_sentences import is_accepted, load_first_sentences


def main(flags: list[str]) -> None:
    """Translates the sentences with a run or a SavedModel and prints the results."""
    accepted = load_first_sentences()
    translations = subprocess.run(
        [sys.executable, "-m", "trainer.translate", *flags],
        input="".join(f"{source}\n" for source in accepted),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.splitlines()
    wrong = {
        source: translation
        for source, translation in zip(accepted, translations, strict=True)
        if not is_accepted(source, translation, accepted[source])
    }
    for source, translation in wrong.items():
        print(f"{source} → {translation}  (expected: {accepted[source][0]})")
    print(json.dumps({"right": len(accepted) - len(wrong), "sentences": len(accepted)}))


if __name__ == "__main__":
    main(sys.argv[1:])
