"""Stanford's lexicalized parser with the options of its English PCFG (Klein and Manning 2003).

Requires Java and Maven, which fetches the parser. Words are its only input: it tags them itself.
"""

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.common.storage import write_atomically
from pipeline.corpora.brackets import read_trees
from pipeline.dataset.tree_repair import repair
from pipeline.dataset.trees import Tree

NAME = "Stanford PCFG 4.5.10"
_FOLDER = Path(__file__).with_name("stanford")
_PARSER = "edu.stanford.nlp.parser.lexparser.LexicalizedParser"
_HEAD_FINDER = "TreebankHeadFinder"
_MEMORY = "-Xmx3g"


def train(trees: Path, work: Path) -> Path:
    """Trains a grammar on a file of trees, unless there is one in `work`, and returns it."""
    grammar = work / "pcfg.ser.gz"
    if grammar.exists():
        return grammar
    _install(work)
    options = ["-goodPCFG", "-headFinder", _HEAD_FINDER, "-train", str(trees)]
    _run_java(work, [*options, "-saveToSerializedFile", str(grammar)])
    return grammar


def parse(grammar: Path, sentences: Sequence[Sequence[str]], work: Path) -> list[Tree]:
    """Parses sentences of words, unless their parses are in `work`.

    A sentence without a parse has a tree of unknown tags.
    """
    text = "".join(f"{' '.join(words)}\n" for words in sentences)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    source, parses = work / f"{digest}.words", work / f"{digest}.parses"
    source.write_text(text, encoding="utf-8")
    if not parses.exists():
        options = ["-sentences", "newline", "-tokenized", "-outputFormat", "oneline"]
        output = _run_java(work, [*options, str(grammar), str(source)])
        write_atomically(str(parses), output.encode())
    return list(read_parses(parses.read_text("utf-8").split("\n")[:-1], sentences))


def read_parses(lines: Sequence[str], sentences: Sequence[Sequence[str]]) -> Iterator[Tree]:
    """Yields the tree of each sentence from a line of output each, over the sentence's own words.

    Raises:
        ValueError: there are not as many lines as sentences.
    """
    for line, words in zip(lines, sentences, strict=True):
        (tree,) = read_trees([line], "output") if line.startswith("(") else [Tree((), ())]
        yield repair(tree.symbols, words)


def _install(work: Path) -> None:
    """Fetches the parser into WORK/jars and compiles the head finder into WORK."""
    pom = ["-f", str(_FOLDER / "pom.xml"), f"-DoutputDirectory={work / 'jars'}"]
    subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", *pom], check=True)
    source = str(_FOLDER / f"{_HEAD_FINDER}.java")
    subprocess.run(["javac", "-cp", f"{work}/jars/*", "-d", str(work), source], check=True)


def _run_java(work: Path, arguments: Sequence[str]) -> str:
    command = ["java", _MEMORY, "-XX:+UseSerialGC", "-cp", f"{work}/jars/*:{work}", _PARSER]
    done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout
