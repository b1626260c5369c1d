"""Lexicon: verbs, and with which nouns and cases each may be used."""

from __future__ import annotations

from typing import NamedTuple

from pipeline.corpora.builtin import nouns as n
from pipeline.corpora.builtin import things as t
from pipeline.corpora.builtin.words import Case, Kind, Verb


class Frame(NamedTuple):
    """A verb, the kinds of its object, and how the object is joined to the verb."""

    verb: Verb
    objects: tuple[Kind, ...]
    case: Case = "accusative"
    english_preposition: str = ""
    german_preposition: str = ""


BE = Verb("be", "was", "sein", "ist", "gewesen", auxiliary="sein")

_PERSONS = (n.PEOPLE, n.RELATIVES)
_ANIMALS = (n.PETS, n.BIG_ANIMALS)
_FOOD = (n.FRUIT, n.VEGETABLES, n.BAKERY, n.WARM_DISHES)
_DRINKS = (n.COLD_DRINKS, n.HOT_DRINKS)
_HAND_SIZED = (t.BELONGINGS, t.CONTAINERS)
_PLACES = (t.BUILDINGS, t.OUTDOORS)
_GOODS = (
    *(
        n.FRUIT,
        n.VEGETABLES,
        n.BAKERY,
        n.CLOTHES,
        n.ACCESSORIES,
        t.VEHICLES,
        t.DEVICES,
        t.FURNITURE,
    ),
    *(*_DRINKS, *_HAND_SIZED),
)

OBJECT_FRAMES = (
    Frame(Verb("admire", "admired", "bewundern", "bewundert", "bewundert"), (*_PERSONS, *_PLACES)),
    Frame(
        Verb("bring along", "brought along", "bringen", "bringt", "mitgebracht", "mit"),
        (*_FOOD, *_DRINKS, *_HAND_SIZED),
    ),
    Frame(Verb("buy", "bought", "kaufen", "kauft", "gekauft"), _GOODS),
    Frame(Verb("call", "called", "rufen", "ruft", "angerufen", "an"), _PERSONS),
    Frame(Verb("carry", "carried", "tragen", "trägt", "getragen"), _HAND_SIZED),
    Frame(
        Verb("close", "closed", "machen", "macht", "zugemacht", "zu"), (t.OPENINGS, t.CONTAINERS)
    ),
    Frame(Verb("cook", "cooked", "kochen", "kocht", "gekocht"), (n.VEGETABLES, n.WARM_DISHES)),
    Frame(Verb("draw", "drew", "zeichnen", "zeichnet", "gezeichnet"), (*_ANIMALS, *_PLACES)),
    Frame(Verb("drink", "drank", "trinken", "trinkt", "getrunken"), _DRINKS),
    Frame(Verb("eat", "ate", "essen", "isst", "gegessen"), _FOOD),
    Frame(Verb("feed", "fed", "füttern", "füttert", "gefüttert"), _ANIMALS),
    Frame(Verb("find", "found", "finden", "findet", "gefunden"), (*_HAND_SIZED, n.PETS)),
    Frame(Verb("forget", "forgot", "vergessen", "vergisst", "vergessen"), _HAND_SIZED),
    Frame(Verb("hear", "heard", "hören", "hört", "gehört"), (*_PERSONS, *_ANIMALS)),
    Frame(Verb("hide", "hid", "verstecken", "versteckt", "versteckt"), _HAND_SIZED),
    Frame(Verb("invite", "invited", "laden", "lädt", "eingeladen", "ein"), _PERSONS),
    Frame(Verb("know", "knew", "kennen", "kennt", "gekannt"), _PERSONS),
    Frame(
        Verb("look at", "looked at", "sehen", "sieht", "angesehen", "an"),
        (n.CLOTHES, t.VEHICLES, t.FURNITURE, *_PLACES),
    ),
    Frame(Verb("look for", "looked for", "suchen", "sucht", "gesucht"), (*_HAND_SIZED, *_ANIMALS)),
    Frame(Verb("lose", "lost", "verlieren", "verliert", "verloren"), _HAND_SIZED),
    Frame(Verb("love", "loved", "lieben", "liebt", "geliebt"), (n.RELATIVES, n.PETS)),
    Frame(Verb("meet", "met", "treffen", "trifft", "getroffen"), _PERSONS),
    Frame(Verb("need", "needed", "brauchen", "braucht", "gebraucht"), (*_HAND_SIZED, t.DEVICES)),
    Frame(
        Verb("order", "ordered", "bestellen", "bestellt", "bestellt"),
        (n.BAKERY, n.WARM_DISHES, *_DRINKS),
    ),
    Frame(
        Verb("photograph", "photographed", "fotografieren", "fotografiert", "fotografiert"),
        (*_PERSONS, *_ANIMALS, *_PLACES),
    ),
    Frame(Verb("pick up", "picked up", "holen", "holt", "abgeholt", "ab"), _PERSONS),
    Frame(
        Verb("repair", "repaired", "reparieren", "repariert", "repariert"), (t.VEHICLES, t.DEVICES)
    ),
    Frame(Verb("see", "saw", "sehen", "sieht", "gesehen"), (*_PERSONS, *_ANIMALS, t.VEHICLES)),
    Frame(Verb("sell", "sold", "verkaufen", "verkauft", "verkauft"), _GOODS),
    Frame(Verb("take off", "took off", "ziehen", "zieht", "ausgezogen", "aus"), (n.CLOTHES,)),
    Frame(
        Verb("throw away", "threw away", "werfen", "wirft", "weggeworfen", "weg"),
        (*_HAND_SIZED, n.CLOTHES),
    ),
    Frame(Verb("tidy up", "tidied up", "räumen", "räumt", "aufgeräumt", "auf"), (t.ROOMS,)),
    Frame(Verb("translate", "translated", "übersetzen", "übersetzt", "übersetzt"), (t.READING,)),
    Frame(
        Verb("try on", "tried on", "probieren", "probiert", "anprobiert", "an"),
        (n.CLOTHES, n.ACCESSORIES),
    ),
    Frame(
        Verb("turn off", "turned off", "schalten", "schaltet", "ausgeschaltet", "aus"),
        (t.DEVICES,),
    ),
    Frame(
        Verb("turn on", "turned on", "schalten", "schaltet", "eingeschaltet", "ein"), (t.DEVICES,)
    ),
    Frame(
        Verb("understand", "understood", "verstehen", "versteht", "verstanden"),
        (*_PERSONS, t.READING),
    ),
    Frame(Verb("unpack", "unpacked", "packen", "packt", "ausgepackt", "aus"), (t.CONTAINERS,)),
    Frame(Verb("visit", "visited", "besuchen", "besucht", "besucht"), (*_PERSONS, *_PLACES)),
    Frame(Verb("wash", "washed", "waschen", "wäscht", "gewaschen"), (n.CLOTHES, t.VEHICLES)),
    Frame(Verb("wear", "wore", "tragen", "trägt", "getragen"), (n.CLOTHES, n.ACCESSORIES)),
    Frame(Verb("write", "wrote", "schreiben", "schreibt", "geschrieben"), (t.READING,)),
)

DATIVE_FRAMES = tuple(
    Frame(verb, _PERSONS, "dative")
    for verb in (
        Verb("answer", "answered", "antworten", "antwortet", "geantwortet"),
        Verb("congratulate", "congratulated", "gratulieren", "gratuliert", "gratuliert"),
        Verb("follow", "followed", "folgen", "folgt", "gefolgt", auxiliary="sein"),
        Verb("help", "helped", "helfen", "hilft", "geholfen"),
        Verb("listen to", "listened to", "hören", "hört", "zugehört", "zu"),
        Verb("thank", "thanked", "danken", "dankt", "gedankt"),
        Verb("trust", "trusted", "vertrauen", "vertraut", "vertraut"),
    )
)

DANCE = Verb("dance", "danced", "tanzen", "tanzt", "getanzt")
LAUGH = Verb("laugh", "laughed", "lachen", "lacht", "gelacht")
PLAY = Verb("play", "played", "spielen", "spielt", "gespielt")
SLEEP = Verb("sleep", "slept", "schlafen", "schläft", "geschlafen")
WAIT = Verb("wait", "waited", "warten", "wartet", "gewartet")

PREPOSITION_FRAMES = (
    Frame(DANCE, _PERSONS, "dative", "with", "mit"),
    Frame(
        Verb("dream", "dreamed", "träumen", "träumt", "geträumt"),
        (n.RELATIVES, t.VEHICLES, n.BIG_ANIMALS),
        *("dative", "of", "von"),
    ),
    Frame(LAUGH, (t.READING, n.PETS, n.CLOTHES), "accusative", "at", "über"),
    Frame(PLAY, (n.RELATIVES, n.PETS), "dative", "with", "mit"),
    Frame(
        Verb("talk", "talked", "sprechen", "spricht", "gesprochen"), _PERSONS, "dative", "to", "mit"
    ),
    Frame(
        Verb("think", "thought", "denken", "denkt", "gedacht"),
        (*_PERSONS, t.EVENTS),
        *("accusative", "of", "an"),
    ),
    Frame(WAIT, (*_PERSONS, t.TRAINS), "accusative", "for", "auf"),
)

# Someone gives someone else something.
GIFT_FRAMES = tuple(
    Frame(verb, (t.READING, *_HAND_SIZED, n.CLOTHES, n.ACCESSORIES))
    for verb in (
        Verb("bring", "brought", "bringen", "bringt", "gebracht"),
        Verb("give", "gave", "geben", "gibt", "gegeben"),
        Verb("lend", "lent", "leihen", "leiht", "geliehen"),
        Verb("offer", "offered", "bieten", "bietet", "angeboten", "an"),
        Verb("send", "sent", "schicken", "schickt", "geschickt"),
        Verb("show", "showed", "zeigen", "zeigt", "gezeigt"),
    )
)

ACTIVITIES = (
    *(DANCE, LAUGH, PLAY, SLEEP, WAIT),
    Verb("cry", "cried", "weinen", "weint", "geweint"),
    Verb("shop", "shopped", "kaufen", "kauft", "eingekauft", "ein"),
    Verb("sing", "sang", "singen", "singt", "gesungen"),
    Verb("stay", "stayed", "bleiben", "bleibt", "geblieben", auxiliary="sein"),
    Verb("work", "worked", "arbeiten", "arbeitet", "gearbeitet"),
)
DAILY = (
    Verb("come back", "came back", "kommen", "kommt", "zurückgekommen", "zurück", "sein"),
    Verb("fall asleep", "fell asleep", "schlafen", "schläft", "eingeschlafen", "ein", "sein"),
    Verb("get up", "got up", "stehen", "steht", "aufgestanden", "auf", "sein"),
    Verb("go out", "went out", "gehen", "geht", "ausgegangen", "aus", "sein"),
    Verb("wake up", "woke up", "wachen", "wacht", "aufgewacht", "auf", "sein"),
    Verb("watch TV", "watched TV", "sehen", "sieht", "ferngesehen", "fern"),
)
MOTIONS = (
    Verb("come", "came", "kommen", "kommt", "gekommen", auxiliary="sein"),
    Verb("go", "went", "gehen", "geht", "gegangen", auxiliary="sein"),
    Verb("hurry", "hurried", "eilen", "eilt", "geeilt", auxiliary="sein"),
    Verb("run", "ran", "laufen", "läuft", "gelaufen", auxiliary="sein"),
)
JOURNEYS = (
    Verb("drive", "drove", "fahren", "fährt", "gefahren", auxiliary="sein"),
    Verb("fly", "flew", "fliegen", "fliegt", "geflogen", auxiliary="sein"),
    Verb("travel", "travelled", "reisen", "reist", "gereist", auxiliary="sein"),
)
TIMETABLE = (
    Verb("arrive", "arrived", "kommen", "kommt", "angekommen", "an", "sein"),
    Verb("depart", "departed", "fahren", "fährt", "abgefahren", "ab", "sein"),
)
PROGRAMME = (
    Verb("begin", "began", "fangen", "fängt", "angefangen", "an"),
    Verb("end", "ended", "enden", "endet", "geendet"),
)
COST = Verb("cost", "cost", "kosten", "kostet", "gekostet")
LIE = Verb("lie", "lay", "liegen", "liegt", "gelegen")
KNOW_THAT = Verb("know", "knew", "wissen", "weiß", "gewusst")
STATEMENTS = (
    KNOW_THAT,
    Verb("believe", "believed", "glauben", "glaubt", "geglaubt"),
    Verb("hope", "hoped", "hoffen", "hofft", "gehofft"),
    Verb("say", "said", "sagen", "sagt", "gesagt"),
)
ASK = Verb("ask", "asked", "fragen", "fragt", "gefragt")

# What nobody sets out to do, and so has no reason for and no permission.
_UNINTENDED = ("find", "forget", "hear", "know", "lose", "love", "need", "see", "understand")
WILLING_FRAMES = tuple(frame for frame in OBJECT_FRAMES if frame.verb.english not in _UNINTENDED)
# What one goes somewhere to do.
_ERRANDS = (
    *("admire", "buy", "draw", "drink", "eat", "invite", "look at", "look for", "meet"),
    *("photograph", "pick up", "repair", "sell", "visit", "congratulate", "help", "thank"),
)
ERRANDS = tuple(
    frame for frame in (*OBJECT_FRAMES, *DATIVE_FRAMES) if frame.verb.english in _ERRANDS
)
