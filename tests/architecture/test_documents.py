"""Documents tell the truth: what they name exists, and what they promise to run, runs.

Every file, folder, module, flag and link in a document or a flagfile's header is looked up; code
blocks marked `run` are run; tables are what `tests.benchmarks.tables` makes of the committed JSON.
"""

import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ENTRY_POINTS, PACKAGES, ROOT
from tests.benchmarks import tables, training_results
from tests.helpers.datasets import builtin_splits, write_dataset

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        *(f"{folder}/*.md" for folder in (*PACKAGES, "serving")),
        "configs/**/*.md",
        "tests/**/*.md",
    )
    for path in ROOT.glob(pattern)
)
FLAGFILES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "configs").rglob("*.flags")
)

CODE = re.compile(r"^ *```(?P<info>[^\n]*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"python -m ([a-z_]+(?:\.[a-z_0-9]+)*)((?:\\\n|[^\n`|])*)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z_0-9-]*)")
OWN_FILE = re.compile(
    r"(?<![\w./:-])((?:pipeline|model|trainer|serving|configs|tests)/[\w./*-]*[\w/*])"
)
OWN_MODULE = re.compile(r"(?<![\w./-])((?:pipeline|model|trainer|tests)(?:\.[A-Za-z_]\w*)+)")
# A command line, ours or another program's, with the lines that continue it.
PROGRAM = re.compile(r"^ *[\w./-]+ (?:[^\n\\]|\\.|\\\n)*--(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
LINK = re.compile(r"(?:\]\(|src=\"|srcset=\")([^)\"\s]+)")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|work|Users|tmp/w)\b[\w/]*")
HEADING = re.compile(r"^#+ (.*)", re.MULTILINE)

# Beam's, behind our commands.
BEAM = {
    *("project", "region", "temp_location", "extra_package", "setup_file"),
    *("job_endpoint", "environment_type", "environment_config"),
    *("sdk_container_image", "sdk_location", "sdk_worker_parallelism"),
    *("flink_master", "flink_version", "flink_job_server_jar"),
    *("parallelism", "prism_location", "spark_master_url"),
}


BEAM_COMMANDS = ("pipeline.preprocess", "trainer.translate")


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def code_of(text: str) -> str:
    """Returns what a document says in code: blocks and inline, a line each."""
    blocks = [match["text"] for match in CODE.finditer(text)]
    return "\n".join([*blocks, *INLINE.findall(CODE.sub("", text))])


def header_of(flagfile: str) -> str:
    return "\n".join(
        line.lstrip("# ") for line in read(flagfile).splitlines() if line.startswith("#")
    )


def missing_files(text: str) -> list[str]:
    """Returns the paths into our folders that match no file."""
    read_only = re.sub(r"--output\w*=\S+", "", text)  # what a command writes need not be there
    return [path for path in OWN_FILE.findall(read_only) if not any(ROOT.glob(path.rstrip("/")))]


def missing_modules(text: str) -> list[str]:
    """Returns the dotted names that are neither a module nor something that a module defines."""
    return [name for name in OWN_MODULE.findall(text) if not _is_name(name)]


def _is_name(name: str) -> bool:
    parts = name.split(".")
    path = ROOT.joinpath(*parts)
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    module = ROOT.joinpath(*parts[:-1]).with_suffix(".py")
    pattern = rf"^(?:def |class )?{parts[-1]}\b"
    return module.exists() and bool(re.search(pattern, module.read_text("utf-8"), re.MULTILINE))


@functools.cache
def flags_of(module: str) -> frozenset[str]:
    """Returns the flags that a command's help lists; without the help of libraries."""
    if module.startswith("tests."):
        source = read(f"{module.replace('.', '/')}.py") + read("tests/benchmarks/record.py")
        return frozenset(re.findall(r'add_argument\(\s*"--([a-z_]+)"', source)) | {"help"}
    command = [sys.executable, "-m", module, "--help"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  --(\[no\])?([a-z_0-9]+)", text, re.MULTILINE)
    return frozenset(name for _, name in names) | {"help"}


def wrong_commands(text: str) -> Iterator[str]:
    """Yields what is wrong with the commands `python -m …` of ours."""
    for module, arguments in COMMAND.findall(text):
        if module.partition(".")[0] not in {*PACKAGES, "tests"}:
            continue
        if module not in ENTRY_POINTS and not (ROOT / f"{module.replace('.', '/')}.py").exists():
            yield f"no module {module}"
            continue
        known = flags_of(module) | (BEAM if module in BEAM_COMMANDS else set())
        yield from (
            f"{module} has no --{flag}" for flag in FLAG.findall(arguments) if flag not in known
        )


def unknown_flags(text: str) -> list[str]:
    """Returns the flags outside command lines that no command of ours has."""
    known = BEAM.union(*map(flags_of, ENTRY_POINTS), {"output"})
    return [flag for flag in FLAG.findall(PROGRAM.sub("", text)) if flag not in known]


def broken_links(document: str) -> list[str]:
    """Returns the relative links that lead nowhere, or to no heading."""
    folder = (ROOT / document).parent
    broken = []
    for link in LINK.findall(CODE.sub("", read(document))):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = folder / path if path else ROOT / document
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    return broken


def anchors_of(path: Path) -> set[str]:
    """Returns the anchors of a document's headings, as GitHub names them."""
    headings = HEADING.findall(CODE.sub("", path.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_and_modules_of_a_document_exist(document: str) -> None:
    text = read(document)
    assert missing_files(text) == []
    assert missing_modules(code_of(text)) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_and_flags_of_a_document_exist(document: str) -> None:
    code = code_of(read(document))
    assert list(wrong_commands(code)) == []
    assert unknown_flags(code) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_of_a_document_lead_somewhere(document: str) -> None:
    assert broken_links(document) == []


def test_headers_of_flagfiles_name_what_exists() -> None:
    text = "\n".join(map(header_of, FLAGFILES))
    assert missing_files(text) == []
    assert missing_modules(text) == []
    assert list(wrong_commands(text)) == []


@pytest.mark.parametrize("document", [*DOCUMENTS, *FLAGFILES])
def test_no_document_names_a_place_on_one_machine(document: str) -> None:
    assert MACHINE_PATH.findall(read(document)) == []


@pytest.mark.parametrize("document", tables.DOCUMENTS)
def test_tables_are_made_from_the_committed_results(document: str) -> None:
    text = read(document)
    assert tables.fill(text) == text, "run `python -m tests.benchmarks.tables`"


def test_every_table_stands_in_a_document() -> None:
    documents = "".join(map(read, tables.DOCUMENTS))
    assert [name for name in tables.TABLES if f"<!-- table: {name} -->" not in documents] == []


def test_the_figure_of_a_result_is_what_its_commands_printed() -> None:
    for result in training_results.read_results():
        printed = " ".join(result["printed"])
        figures = [float(figure) for figure in re.findall(r"\d+\.\d+", printed)]
        bleu = result["bleu"]
        assert bleu is None or any(abs(figure - bleu) < 0.006 for figure in figures), result["task"]


def test_layout_in_readme_is_that_of_the_folders() -> None:
    rows = re.findall(r"^\| `(\w+)/` \| (.*?) \|", read("README.md"), re.MULTILINE)
    assert {name: set(re.findall(r"`(\w+)`", rooms)) for name, rooms in rows} == {
        name: {
            path.name
            for path in (ROOT / name).iterdir()
            if path.is_dir()
            and any(file.name != "__pycache__" for file in path.iterdir())
            and not path.name.startswith(("_", "."))
        }
        for name in (*PACKAGES, "serving", "configs", "tests")
    }


@pytest.mark.parametrize(("document", "words"), [("README.md", 2_000), ("BUILD.md", 2_600)])
def test_entrance_documents_stay_short(document: str, words: int) -> None:
    assert len(read(document).split()) <= words


def test_readme_has_every_document() -> None:
    linked = set(LINK.findall(read("README.md")))
    assert {*DOCUMENTS} - {"README.md"} <= linked


def blocks_to_run(language: str) -> list[str]:
    return [
        match["text"]
        for document in DOCUMENTS
        for match in CODE.finditer(read(document))
        if match["info"] == f"{language} run"
    ]


@pytest.mark.parametrize("text", blocks_to_run("sh"))
def test_marked_commands_run(text: str) -> None:
    command = text.replace("python ", f"{sys.executable} ", 1)
    result = subprocess.run(["bash", "-ec", command], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("text", blocks_to_run("python"))
def test_marked_programs_run_beside_a_dataset(text: str, tmp_path: Path) -> None:
    write_dataset(tmp_path / "data" / "demo", builtin_splits())
    result = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("'source'") == 3


def test_there_are_blocks_to_run() -> None:
    assert blocks_to_run("sh") and blocks_to_run("python")


def test_what_does_not_exist_is_reported() -> None:
    assert missing_files("see pipeline/nowhere.py and configs/*.flags") == ["pipeline/nowhere.py"]
    assert missing_modules("trainer.nothing, trainer.task") == ["trainer.nothing"]
    assert missing_modules("pipeline.dataset.schema.load_dataset") == []
    assert missing_modules("pipeline.dataset.schema.load_nothing") == [
        "pipeline.dataset.schema.load_nothing"
    ]
    assert list(wrong_commands("python -m trainer.task --steps=5 \\\n  --seed=1 --lr=2")) == [
        "trainer.task has no --steps",
        "trainer.task has no --lr",
    ]
    assert list(wrong_commands("python -m trainer.no_command")) == ["no module trainer.no_command"]
    assert unknown_flags("`--beam_size` `--beam_sizes`") == ["beam_sizes"]
    assert MACHINE_PATH.findall("in /home/me/x or /tmp/benchmark") == ["/home/me/x"]
