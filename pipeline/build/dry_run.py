"""Dry run: what each cleaning rule would drop from a sample, before anything is written.

Each rule is tried on its own, including those that are off, so a pair may count for several.
Inputs that are not seekable are unpacked into a temporary folder; the output directory is not
touched.
"""

import collections
import math
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from pipeline.build.find_inputs import find_inputs
from pipeline.build.script_check import warn_of_other_scripts
from pipeline.cleaning import normalization, rules
from pipeline.cleaning.rule_flags import FLAGS
from pipeline.cleaning.rules import USUAL, Rule
from pipeline.common.tables import escape, format_table
from pipeline.config import PreprocessConfig
from pipeline.corpora.blocks import Block, cut_blocks, read_span
from pipeline.dataset.schema import SPLITS, Pair

_SAMPLED_LINES = 50_000  # from all blocks together: a few seconds
_EXAMPLES = 2
_WIDTH = 88  # characters of an example

_NOTES = {
    rules.UNDECODABLE: "(without it, the first one stops the run)",
    rules.DUPLICATE: "(of a pair of this sample)",
    rules.OVERLAP: "(with given dev and test text)",
    rules.TOO_LONG: "(at least: those with more words than that)",
}
_NORMAL_FORM = "changed by Unicode NFC"


def format_dry_run(config: PreprocessConfig, *, sampled_lines: int = _SAMPLED_LINES) -> str:
    """Returns the effect of every rule on every k-th line of the training text.

    Args:
        config: inputs and rules.
        sampled_lines: most lines to try.

    Raises:
        UserError: the inputs cannot be used.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs = {split: find_inputs(config, split) for split in SPLITS}
        blocks = {
            split: cut_blocks(split, split_inputs, config.block_lines, folder)[0]
            for split, split_inputs in inputs.items()
            if split_inputs
        }
        train = blocks.pop("train")
        warn_of_other_scripts(config.languages, inputs["train"])
        lines = sum(block.lines for block in train)
        step = math.ceil(lines / sampled_lines)
        heldout = frozenset(
            normalization.pair_key(*map(normalization.normalize, pair))
            for split in blocks.values()
            for pair in _read(split)
        )
        trial = _Trial(_all_rules(config, heldout), config)
        for pair in _read(train, step):
            trial.add(pair)
    sample = f"one line in {step:,}" if step > 1 else "every line"
    head = f"Dry run on {sample}: {trial.pairs:,} of {lines:,} pairs; nothing is written"
    return "\n".join([head, *trial.format_report()])


class _Trial:
    """Counts and examples of each rule over the pairs of a sample."""

    def __init__(self, rules: Sequence[Rule], config: PreprocessConfig) -> None:
        self.pairs = self._kept = 0
        self._rules = rules
        self._config = config
        self._flags = config.content()
        self._on = {name for name, _ in rules if self._is_on(name)}
        self._counts = collections.Counter[str]()
        self._examples = collections.defaultdict[str, list[Pair]](list)

    def add(self, raw: Pair) -> None:
        """Tries every rule on a pair of unprocessed lines."""
        self.pairs += 1
        if not all(unicodedata.is_normalized("NFC", side) for side in raw):
            self._count(_NORMAL_FORM, raw)
        pair = normalization.normalize(raw[0]), normalization.normalize(raw[1])
        dropping = {name for name, drops in self._rules if drops(*pair)}
        for name in dropping:
            self._count(name, pair)
        if dropping.isdisjoint(self._on):
            self._kept += 1

    def format_report(self) -> Iterator[str]:
        """Yields the lines of the report."""
        names = [*(name for name, _ in self._rules), _NORMAL_FORM]
        rows = [["rule", "", "drops", "share"], *map(self._row, names)]
        notes = ["tried with", *map(self._note, names)]
        for line, note in zip(format_table(rows), notes, strict=True):
            yield f"  {line}  {note}".rstrip()
        yield f"  kept with these flags: {self._kept:,} of {self.pairs:,}"
        for name, pairs in self._examples.items():
            yield f"\n{name}, for example"
            for pair in pairs:
                for language, side in zip(self._config.languages.codes, pair, strict=True):
                    yield f"  {language}  {_shorten(side)}"

    def _is_on(self, name: str) -> bool:
        return name not in FLAGS or bool(self._flags[FLAGS[name]])

    def _row(self, name: str) -> list[str]:
        count = self._counts[name]
        state = "off" if name in FLAGS and name not in self._on else "on"
        return [name, state, f"{count:,}", f"{count / max(self.pairs, 1):.2%}"]

    def _note(self, name: str) -> str:
        flag = FLAGS.get(name)
        if flag is None:
            return "always"
        value = self._flags[flag] or USUAL.get(name)
        setting = f"--{flag}" if isinstance(self._flags[flag], bool) else f"--{flag}={value}"
        return f"{setting} {_NOTES.get(name, '')}"

    def _count(self, name: str, pair: Pair) -> None:
        self._counts[name] += 1
        examples = self._examples[name]
        if len(examples) < _EXAMPLES and pair not in examples:
            examples.append(pair)


def _all_rules(config: PreprocessConfig, heldout: frozenset[bytes]) -> list[Rule]:
    """Returns the rules of one pair, and substitutes for those that need corpus or subwords."""
    seen: set[bytes] = set()

    def is_repeat(source: str, target: str) -> bool:
        before = len(seen)
        seen.add(normalization.pair_key(source, target))
        return len(seen) == before

    def is_held_out(source: str, target: str) -> bool:
        return normalization.pair_key(source, target) in heldout

    def is_too_long(source: str, target: str) -> bool:
        words = 1 + max(source.count(" "), target.count(" "))
        return words + 1 > config.max_length  # one subword or more per word, and the end symbol

    return [
        *config.rules.all(),
        (rules.DUPLICATE, is_repeat),
        (rules.OVERLAP, is_held_out),
        (rules.TOO_LONG, is_too_long),
    ]


def _read(blocks: Iterable[Block], step: int = 1) -> Iterator[Pair]:
    """Yields every `step`-th pair of each block, from its first."""
    for block in blocks:
        sources = read_span(block.source, strict=False)
        targets = read_span(block.target, strict=False)
        yield from zip(sources[::step], targets[::step], strict=True)


def _shorten(line: str) -> str:
    shown = line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…"
    return "".join(
        character if character.isprintable() else escape(character) for character in shown
    )
