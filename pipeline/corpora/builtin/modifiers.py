"""Lexicon: adjectives, names, cities, numbers and expressions of time."""

from pipeline.corpora.builtin.words import Adjective, Bilingual, Modal, Name

ANGRY = Adjective("angry", "wütend")
BEAUTIFUL = Adjective("beautiful", "schön")
BIG = Adjective("big", "groß")
BLACK = Adjective("black", "schwarz")
BLUE = Adjective("blue", "blau")
BORING = Adjective("boring", "langweilig")
BRAVE = Adjective("brave", "mutig")
BROWN = Adjective("brown", "braun")
BUSY = Adjective("busy", "beschäftigt")
CHEAP = Adjective("cheap", "billig")
CLEAN = Adjective("clean", "sauber")
CLEVER = Adjective("clever", "klug")
COLD = Adjective("cold", "kalt")
DARK = Adjective("dark", "dunkel", "dunkl")
DELICIOUS = Adjective("delicious", "lecker")
DIFFICULT = Adjective("difficult", "schwierig")
DIRTY = Adjective("dirty", "schmutzig")
ELEGANT = Adjective("elegant", "elegant")
EXCITING = Adjective("exciting", "spannend")
EXPENSIVE = Adjective("expensive", "teuer", "teur")
FAMOUS = Adjective("famous", "berühmt")
FAST = Adjective("fast", "schnell")
FAT = Adjective("fat", "dick")
FRESH = Adjective("fresh", "frisch")
FRIENDLY = Adjective("friendly", "freundlich")
FUNNY = Adjective("funny", "lustig")
GOOD = Adjective("good", "gut")
GREEN = Adjective("green", "grün")
HAPPY = Adjective("happy", "glücklich")
HEALTHY = Adjective("healthy", "gesund")
HEAVY = Adjective("heavy", "schwer")
HOT = Adjective("hot", "heiß")
HUNGRY = Adjective("hungry", "hungrig")
INTERESTING = Adjective("interesting", "interessant")
LONELY = Adjective("lonely", "einsam")
LONG = Adjective("long", "lang")
MODERN = Adjective("modern", "modern")
NERVOUS = Adjective("nervous", "nervös")
NEW = Adjective("new", "neu")
OLD = Adjective("old", "alt")
POLITE = Adjective("polite", "höflich")
POOR = Adjective("poor", "arm")
QUIET = Adjective("quiet", "ruhig")
RED = Adjective("red", "rot")
RICH = Adjective("rich", "reich")
RIPE = Adjective("ripe", "reif")
SAD = Adjective("sad", "traurig")
SATISFIED = Adjective("satisfied", "zufrieden")
SHORT = Adjective("short", "kurz")
SICK = Adjective("sick", "krank")
SMALL = Adjective("small", "klein")
STRONG = Adjective("strong", "stark")
SWEET = Adjective("sweet", "süß")
TALL = Adjective("tall", "groß")
THIN = Adjective("thin", "dünn")
THIRSTY = Adjective("thirsty", "durstig")
TIRED = Adjective("tired", "müde", "müd")
WARM = Adjective("warm", "warm")
WHITE = Adjective("white", "weiß")
YELLOW = Adjective("yellow", "gelb")
YOUNG = Adjective("young", "jung")

MOODS = (
    *(ANGRY, BUSY, HAPPY, HEALTHY, HUNGRY, LONELY, NERVOUS, SAD),
    *(SATISFIED, SICK, THIRSTY, TIRED),
)

_WOMEN = ("Anna", "Clara", "Emma", "Eva", "Helga", "Julia", "Laura", "Lena", "Maria", "Nina")
_MEN = ("Daniel", "David", "Jan", "Martin", "Michael", "Oliver", "Paul", "Peter", "Robert")

WOMENS_NAMES = tuple(Name(text, "f") for text in (*_WOMEN, "Sarah", "Sophie"))
MENS_NAMES = tuple(Name(text, "m") for text in (*_MEN, "Simon", "Stefan", "Walter"))
# All of these form their possessive with a plain -s in German too.
NAMES = (*WOMENS_NAMES, *MENS_NAMES)

CITIES = (
    Bilingual("Berlin", "Berlin"),
    Bilingual("Cologne", "Köln"),
    Bilingual("Hamburg", "Hamburg"),
    Bilingual("London", "London"),
    Bilingual("Munich", "München"),
    Bilingual("Nuremberg", "Nürnberg"),
    Bilingual("Paris", "Paris"),
    Bilingual("Prague", "Prag"),
    Bilingual("Rome", "Rom"),
    Bilingual("Vienna", "Wien"),
    Bilingual("Zurich", "Zürich"),
)

NUMBERS = (
    Bilingual("two", "zwei"),
    Bilingual("three", "drei"),
    Bilingual("four", "vier"),
    Bilingual("five", "fünf"),
    Bilingual("six", "sechs"),
    Bilingual("seven", "sieben"),
    Bilingual("eight", "acht"),
    Bilingual("nine", "neun"),
    Bilingual("ten", "zehn"),
    Bilingual("eleven", "elf"),
    Bilingual("twelve", "zwölf"),
)

WEEKDAYS = (
    Bilingual("Monday", "Montag"),
    Bilingual("Tuesday", "Dienstag"),
    Bilingual("Wednesday", "Mittwoch"),
    Bilingual("Thursday", "Donnerstag"),
    Bilingual("Friday", "Freitag"),
    Bilingual("Saturday", "Samstag"),
    Bilingual("Sunday", "Sonntag"),
)

FREQUENCIES = (
    Bilingual("always", "immer"),
    Bilingual("never", "nie"),
    Bilingual("often", "oft"),
    Bilingual("rarely", "selten"),
    Bilingual("sometimes", "manchmal"),
)

_ON_WEEKDAYS = tuple(Bilingual(f"on {day.english}", f"am {day.german}") for day in WEEKDAYS)
_YEARS = (1987, 1992, 1995, 1998, 2003, 2006, 2010, 2014)

CLOCK_TIMES = tuple(
    Bilingual(f"at {number.english} o'clock", f"um {number.german} Uhr") for number in NUMBERS
)
PRESENT_TIMES = (
    Bilingual("every day", "jeden Tag"),
    Bilingual("every morning", "jeden Morgen"),
    Bilingual("every evening", "jeden Abend"),
    Bilingual("every week", "jede Woche"),
    Bilingual("in the morning", "am Morgen"),
    Bilingual("in the evening", "am Abend"),
    Bilingual("in summer", "im Sommer"),
    Bilingual("in winter", "im Winter"),
    Bilingual("today", "heute"),
)
PAST_TIMES = (
    Bilingual("yesterday", "gestern"),
    Bilingual("last week", "letzte Woche"),
    Bilingual("last year", "letztes Jahr"),
    Bilingual("this morning", "heute Morgen"),
    *_ON_WEEKDAYS,
    *(Bilingual(f"{n.english} days ago", f"vor {n.german} Tagen") for n in NUMBERS[:6]),
    *(Bilingual(f"{n.english} weeks ago", f"vor {n.german} Wochen") for n in NUMBERS[:6]),
    *(Bilingual(f"in {year}", f"im Jahr {year}") for year in _YEARS),
)
FUTURE_TIMES = (
    Bilingual("today", "heute"),
    Bilingual("tomorrow", "morgen"),
    Bilingual("next week", "nächste Woche"),
    Bilingual("next year", "nächstes Jahr"),
    *_ON_WEEKDAYS,
    *(Bilingual(f"in {n.english} days", f"in {n.german} Tagen") for n in NUMBERS[:6]),
)

MODALS = (
    Modal("can", "kann", "können", "cannot"),
    # "must not" forbids, "muss nicht" only exempts: the negation changes the German verb.
    Modal("must", "muss", "müssen", "must not", "darf", "dürfen"),
    Modal("may", "darf", "dürfen", "may not"),
    Modal("should", "sollte", "sollten", "should not"),
    Modal("will", "wird", "werden", "will not"),
    Modal("want to", "will", "wollen"),
)

# With the dative: where something is.
SPATIAL = (
    Bilingual("behind", "hinter"),
    Bilingual("in front of", "vor"),
    Bilingual("next to", "neben"),
    Bilingual("on", "auf"),
    Bilingual("under", "unter"),
)
# The German ones as they stand in a subordinate clause.
WEATHER = (
    Bilingual("it is cold", "es kalt ist"),
    Bilingual("it is dark", "es dunkel ist"),
    Bilingual("it is hot", "es heiß ist"),
    Bilingual("it is raining", "es regnet"),
    Bilingual("it is snowing", "es schneit"),
    Bilingual("the sun is shining", "die Sonne scheint"),
    Bilingual("the weather is bad", "das Wetter schlecht ist"),
    Bilingual("the weather is good", "das Wetter gut ist"),
)
PRICES = (12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 65, 70, 80, 90, 99)
