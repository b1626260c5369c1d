"""The lexicon of the built-in corpus, read from `lexicon.tsv`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import TypeVar

from pipeline.corpora.builtin.tables import Row, read_tables
from pipeline.corpora.builtin.words import (
    Adjective,
    Auxiliary,
    Bilingual,
    Case,
    Frame,
    Gender,
    Kind,
    Modal,
    Name,
    Noun,
    Verb,
)

_Entry = TypeVar("_Entry")
_GENDERS: dict[str, Gender] = {"m": "m", "f": "f", "n": "n"}
_AUXILIARIES: dict[str, Auxiliary] = {"": "haben", "sein": "sein"}
_OBJECT_CASES: dict[str, Case] = {"": "accusative", "dative": "dative"}
_FLAGS = {"": False, "yes": True}
_YEARS = (1987, 1992, 1995, 1998, 2003, 2006, 2010, 2014)


@dataclass(frozen=True)
class Lexicon:
    """All entries, grouped as `lexicon.tsv` groups them, in the order of its rows.

    `kinds` also holds the sets of kinds: persons, food. `frames` and `verbs` have the same groups;
    `texts` holds words and phrases that are not inflected.
    """

    adjectives: dict[str, Adjective]
    moods: tuple[Adjective, ...]
    kinds: dict[str, tuple[Kind, ...]]
    frames: dict[str, tuple[Frame, ...]]
    verbs: dict[str, tuple[Verb, ...]]
    modals: tuple[Modal, ...]
    women: tuple[Name, ...]
    men: tuple[Name, ...]
    texts: dict[str, tuple[Bilingual, ...]]

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of women and men."""
        return (*self.women, *self.men)

    def verb(self, group: str) -> Verb:
        """Returns the verb of a group that has only one."""
        (verb,) = self.verbs[group]
        return verb


@cache
def lexicon() -> Lexicon:
    """Reads the lexicon, once per process.

    Raises:
        ValueError: A line of the file is malformed or names an unknown entry.
    """
    path = resources.files(__package__).joinpath("lexicon.tsv")
    return parse_lexicon(path.read_text(encoding="utf-8"), path.name)


def parse_lexicon(text: str, file_name: str) -> Lexicon:
    """Returns the lexicon in the text of a file."""
    tables = read_tables(text, file_name)
    adjectives = {
        row["english"]: Adjective(row["english"], row["german"], row["stem"])
        for row in tables["adjectives"]
    }
    kinds = _read_kinds(tables, adjectives)
    frames = _group((row.split("groups"), _read_frame(row, kinds)) for row in tables["verbs"])
    persons = set(kinds["persons"])
    frames["whom"] = tuple(f for f in frames["object"] if persons.issuperset(f.objects))
    frames["what"] = tuple(f for f in frames["object"] if persons.isdisjoint(f.objects))
    names = [Name(row["name"], row.lookup("gender", _GENDERS)) for row in tables["names"]]
    return Lexicon(
        adjectives=adjectives,
        moods=tuple(
            adjectives[row["english"]] for row in tables["adjectives"] if row.lookup("mood", _FLAGS)
        ),
        kinds=kinds,
        frames=frames,
        verbs={group: tuple(frame.verb for frame in frames[group]) for group in frames},
        modals=tuple(Modal(*row.cells.values()) for row in tables["modals"]),
        women=tuple(name for name in names if name.gender == "f"),
        men=tuple(name for name in names if name.gender == "m"),
        texts=_read_texts(tables["texts"]),
    )


def _read_kinds(
    tables: dict[str, list[Row]], adjectives: dict[str, Adjective]
) -> dict[str, tuple[Kind, ...]]:
    """Returns each kind as a tuple of one, and the sets of kinds."""
    rows = {row["kind"]: row for row in tables["kinds"]}
    nouns = _group(([row.lookup("kind", rows)["kind"]], _read_noun(row)) for row in tables["nouns"])
    kinds: dict[str, tuple[Kind, ...]] = {
        name: (Kind(nouns[name], row.lookup_all("adjectives", adjectives)),)
        for name, row in rows.items()
    }
    for row in tables["sets"]:
        kinds[row["set"]] = tuple(chain(*row.lookup_all("kinds", kinds)))
    return kinds


def _read_noun(row: Row) -> Noun:
    gender, weak = row.lookup("gender", _GENDERS), row.lookup("weak", _FLAGS)
    return Noun(row["english"], row["german"], gender, row["plural"], weak)


def _read_frame(row: Row, kinds: dict[str, tuple[Kind, ...]]) -> Frame:
    verb = Verb(
        row["english"],
        row["past"],
        row["infinitive"],
        row["third"],
        row["participle"],
        row["prefix"],
        row.lookup("auxiliary", _AUXILIARIES),
    )
    return Frame(
        verb,
        objects=tuple(chain(*row.lookup_all("objects", kinds))),
        case=row.lookup("case", _OBJECT_CASES),
        english_preposition=row["english_preposition"],
        german_preposition=row["german_preposition"],
    )


def _read_texts(rows: list[Row]) -> dict[str, tuple[Bilingual, ...]]:
    """Returns the texts of the table and the times that numbers and weekdays make."""
    texts = _group((row.split("groups"), Bilingual(row["english"], row["german"])) for row in rows)
    numbers, few = texts["number"], texts["number"][:6]
    weekdays = [Bilingual(f"on {day}", f"am {tag}") for day, tag in texts["weekday"]]
    texts["clock_time"] = tuple(Bilingual(f"at {n} o'clock", f"um {z} Uhr") for n, z in numbers)
    texts["past_time"] += (
        *weekdays,
        *(Bilingual(f"{n} days ago", f"vor {z} Tagen") for n, z in few),
        *(Bilingual(f"{n} weeks ago", f"vor {z} Wochen") for n, z in few),
        *(Bilingual(f"in {year}", f"im Jahr {year}") for year in _YEARS),
    )
    texts["future_time"] += (
        *weekdays,
        *(Bilingual(f"in {n} days", f"in {z} Tagen") for n, z in few),
    )
    return texts


def _group(entries: Iterable[tuple[list[str], _Entry]]) -> dict[str, tuple[_Entry, ...]]:
    """Returns the entries of each group; an entry may be in several."""
    groups: dict[str, tuple[_Entry, ...]] = {}
    for names, entry in entries:
        for name in names:
            groups[name] = (*groups.get(name, ()), entry)
    return groups
