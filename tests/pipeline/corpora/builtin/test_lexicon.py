"""The file of the lexicon: what a reader of its error messages needs to mend it."""

from importlib import resources

import pytest

from pipeline.corpora.builtin import lexicon as lexicon_module
from pipeline.corpora.builtin.lexicon import parse_lexicon
from pipeline.corpora.builtin.tables import read_tables

FILE = resources.files(lexicon_module.__package__).joinpath("lexicon.tsv").read_text("utf-8")


def test_cells_by_column():
    text = "# animals\n[nouns]\nenglish\tgerman\tplural?\tweak?\n\ncow\tKuh\t-\tyes\ndog\tHund\n"
    cow, dog = read_tables(text, "file")["nouns"]
    assert cow.cells == {"english": "cow", "german": "Kuh", "plural": "", "weak": "yes"}
    assert dog.cells == {"english": "dog", "german": "Hund", "plural": "", "weak": ""}
    assert dog.location == "file:6"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cow\tKuh", "file:1: received 'cow.*expected .name. before the first row"),
        ("[nouns\n", "file:1: received '.nouns'; expected .name."),
        ("[a]\nx\n[a]\nx", "file:3: received '.a.'; expected .name., each name once"),
        ("[a]\nx\ty\n1\t2\t3", "file:3: received 3 cells; expected at most 2: x, y"),
        ("[a]\nx\ty?\tz\n1\t\t3", "file:3: received an empty cell in '1.*expected one tab"),
        ("[a]\nx\ty\n\n1", "file:4: received no y in '1'; expected one"),
    ],
)
def test_malformed_line_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        read_tables(text, "file")


@pytest.mark.parametrize(
    ("line", "replacement", "message"),
    [
        ("pets\tdog\tHund\tm", "pets\tdog\tHund\tx", "gender 'x'; expected one of m, f, n"),
        ("pets\tdog", "pet\tdog", "kind 'pet'; expected one of people, .*pets, "),
        ("hot_drinks\tcold, ", "hot_drinks\tcool, ", "adjectives 'cool'; expected one of angry, "),
        ("aufgestanden\tauf\tsein", "aufgestanden\tauf\tist", "auxiliary 'ist'; .* of -, sein"),
        ("geschrieben\t-\t-\treading", "geschrieben\t-\t-\treads", "objects 'reads'"),
        ("groups\tenglish\tpast\t", "groups\tenglish\tpreterite\t", "no column 'past'"),
    ],
)
def test_unknown_entry_is_named_with_its_line(line, replacement, message):
    assert FILE.count(line) == 1
    number = FILE[: FILE.index(line)].count("\n") + 1
    if "column" in message:
        number += 1
    with pytest.raises(ValueError, match=f"lexicon.tsv:{number}: received .*{message}"):
        parse_lexicon(FILE.replace(line, replacement), "lexicon.tsv")


def test_sets_hold_the_kinds_they_name():
    kinds = lexicon_module.lexicon().kinds
    assert kinds["drinks"] == (*kinds["cold_drinks"], *kinds["hot_drinks"])
    assert set(kinds["drinks"]) < set(kinds["goods"])
