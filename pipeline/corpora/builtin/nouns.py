"""Lexicon: nouns, in kinds that say which adjectives and verbs suit them."""

from pipeline.corpora.builtin import modifiers as m
from pipeline.corpora.builtin.words import Kind, Noun

_CLOTHES_ADJECTIVES = (
    *(m.BEAUTIFUL, m.BLACK, m.BLUE, m.CHEAP, m.CLEAN, m.DARK, m.DIRTY, m.ELEGANT),
    *(m.EXPENSIVE, m.GREEN, m.LONG, m.NEW, m.OLD, m.RED, m.WHITE, m.YELLOW),
)

PEOPLE = Kind(
    (
        Noun("actress", "Schauspielerin", "f", "Schauspielerinnen"),
        Noun("artist", "Künstler", "m", "Künstler"),
        Noun("baker", "Bäcker", "m", "Bäcker"),
        Noun("boy", "Junge", "m", "Jungen", weak=True),
        Noun("chef", "Koch", "m", "Köche"),
        Noun("child", "Kind", "n", "Kinder"),
        Noun("customer", "Kunde", "m", "Kunden", weak=True),
        Noun("doctor", "Arzt", "m", "Ärzte"),
        Noun("engineer", "Ingenieur", "m", "Ingenieure"),
        Noun("farmer", "Bauer", "m", "Bauern", weak=True),
        Noun("girl", "Mädchen", "n", "Mädchen"),
        Noun("guest", "Gast", "m", "Gäste"),
        Noun("king", "König", "m", "Könige"),
        Noun("lawyer", "Anwalt", "m", "Anwälte"),
        Noun("man", "Mann", "m", "Männer"),
        Noun("nurse", "Krankenschwester", "f", "Krankenschwestern"),
        Noun("pilot", "Pilot", "m", "Piloten", weak=True),
        Noun("police officer", "Polizist", "m", "Polizisten", weak=True),
        Noun("princess", "Prinzessin", "f", "Prinzessinnen"),
        Noun("queen", "Königin", "f", "Königinnen"),
        Noun("soldier", "Soldat", "m", "Soldaten", weak=True),
        Noun("student", "Student", "m", "Studenten", weak=True),
        Noun("waitress", "Kellnerin", "f", "Kellnerinnen"),
        Noun("woman", "Frau", "f", "Frauen"),
    ),
    (
        *(m.BRAVE, m.CLEVER, m.FAMOUS, m.FRIENDLY, m.FUNNY, m.OLD, m.POLITE),
        *(m.POOR, m.RICH, m.STRONG, m.TALL, m.YOUNG),
    ),
)
# These belong to somebody: "my sister", "his friend".
RELATIVES = Kind(
    (
        Noun("aunt", "Tante", "f", "Tanten"),
        Noun("brother", "Bruder", "m", "Brüder"),
        Noun("colleague", "Kollege", "m", "Kollegen", weak=True),
        Noun("daughter", "Tochter", "f", "Töchter"),
        Noun("father", "Vater", "m"),
        Noun("friend", "Freund", "m", "Freunde"),
        Noun("grandfather", "Großvater", "m", "Großväter"),
        Noun("grandmother", "Großmutter", "f", "Großmütter"),
        Noun("mother", "Mutter", "f"),
        Noun("neighbour", "Nachbar", "m", "Nachbarn", weak=True),
        Noun("nephew", "Neffe", "m", "Neffen", weak=True),
        Noun("sister", "Schwester", "f", "Schwestern"),
        Noun("son", "Sohn", "m", "Söhne"),
        Noun("teacher", "Lehrer", "m", "Lehrer"),
        Noun("uncle", "Onkel", "m", "Onkel"),
    ),
    (m.BRAVE, m.CLEVER, m.FAMOUS, m.FRIENDLY, m.FUNNY, m.POLITE, m.RICH, m.STRONG),
)
PETS = Kind(
    (
        Noun("bird", "Vogel", "m", "Vögel"),
        Noun("cat", "Katze", "f", "Katzen"),
        Noun("dog", "Hund", "m", "Hunde"),
        Noun("mouse", "Maus", "f", "Mäuse"),
        Noun("rabbit", "Kaninchen", "n", "Kaninchen"),
    ),
    (m.BEAUTIFUL, m.BLACK, m.BROWN, m.FAT, m.HUNGRY, m.OLD, m.SMALL, m.THIN, m.WHITE, m.YOUNG),
)
BIG_ANIMALS = Kind(
    (
        Noun("bear", "Bär", "m", "Bären", weak=True),
        Noun("cow", "Kuh", "f", "Kühe"),
        Noun("donkey", "Esel", "m", "Esel"),
        Noun("elephant", "Elefant", "m", "Elefanten", weak=True),
        Noun("goat", "Ziege", "f", "Ziegen"),
        Noun("horse", "Pferd", "n", "Pferde"),
        Noun("lion", "Löwe", "m", "Löwen", weak=True),
        Noun("monkey", "Affe", "m", "Affen", weak=True),
        Noun("pig", "Schwein", "n", "Schweine"),
    ),
    (m.BIG, m.FAT, m.HUNGRY, m.OLD, m.SICK, m.STRONG, m.THIN, m.TIRED, m.YOUNG),
)
FRUIT = Kind(
    (
        Noun("apple", "Apfel", "m", "Äpfel"),
        Noun("banana", "Banane", "f", "Bananen"),
        Noun("orange", "Orange", "f", "Orangen"),
        Noun("peach", "Pfirsich", "m", "Pfirsiche"),
        Noun("pear", "Birne", "f", "Birnen"),
        Noun("plum", "Pflaume", "f", "Pflaumen"),
        Noun("tomato", "Tomate", "f", "Tomaten"),
    ),
    (m.CHEAP, m.DELICIOUS, m.FRESH, m.RIPE, m.SMALL, m.SWEET),
)
VEGETABLES = Kind(
    (
        Noun("carrot", "Karotte", "f", "Karotten"),
        Noun("egg", "Ei", "n", "Eier"),
        Noun("mushroom", "Pilz", "m", "Pilze"),
        Noun("potato", "Kartoffel", "f", "Kartoffeln"),
        Noun("sausage", "Wurst", "f", "Würste"),
    ),
    (m.BIG, m.CHEAP, m.FRESH, m.GOOD, m.SMALL),
)
BAKERY = Kind(
    (
        Noun("apple cake", "Apfelkuchen", "m", "Apfelkuchen"),
        Noun("bread", "Brot", "n"),
        Noun("cake", "Kuchen", "m", "Kuchen"),
        Noun("cheese", "Käse", "m"),
        Noun("chocolate cake", "Schokoladenkuchen", "m", "Schokoladenkuchen"),
        Noun("meat", "Fleisch", "n"),
        Noun("potato salad", "Kartoffelsalat", "m"),
        Noun("roll", "Brötchen", "n", "Brötchen"),
    ),
    (m.CHEAP, m.DELICIOUS, m.EXPENSIVE, m.FRESH, m.GOOD),
)
WARM_DISHES = Kind(
    (
        Noun("potato soup", "Kartoffelsuppe", "f"),
        Noun("soup", "Suppe", "f"),
        Noun("tomato soup", "Tomatensuppe", "f"),
        Noun("rice", "Reis", "m"),
        Noun("vegetable soup", "Gemüsesuppe", "f"),
    ),
    (m.COLD, m.DELICIOUS, m.GOOD, m.HOT, m.WARM),
)
COLD_DRINKS = Kind(
    (
        Noun("apple juice", "Apfelsaft", "m"),
        Noun("beer", "Bier", "n"),
        Noun("milk", "Milch", "f"),
        Noun("orange juice", "Orangensaft", "m"),
        Noun("tomato juice", "Tomatensaft", "m"),
        Noun("water", "Wasser", "n"),
        Noun("wine", "Wein", "m"),
    ),
    (m.CHEAP, m.COLD, m.GOOD),
)
HOT_DRINKS = Kind(
    (Noun("coffee", "Kaffee", "m"), Noun("tea", "Tee", "m")),
    (m.COLD, m.GOOD, m.HOT, m.STRONG, m.SWEET),
)
CLOTHES = Kind(
    (
        Noun("blouse", "Bluse", "f", "Blusen"),
        Noun("coat", "Mantel", "m", "Mäntel"),
        Noun("dress", "Kleid", "n", "Kleider"),
        Noun("jacket", "Jacke", "f", "Jacken"),
        Noun("shirt", "Hemd", "n", "Hemden"),
        Noun("skirt", "Rock", "m", "Röcke"),
        Noun("summer dress", "Sommerkleid", "n", "Sommerkleider"),
        Noun("sweater", "Pullover", "m", "Pullover"),
        Noun("winter coat", "Wintermantel", "m", "Wintermäntel"),
    ),
    _CLOTHES_ADJECTIVES,
)
# German takes clothes off by another verb than these.
ACCESSORIES = Kind(
    (
        Noun("belt", "Gürtel", "m", "Gürtel"),
        Noun("cap", "Mütze", "f", "Mützen"),
        Noun("hat", "Hut", "m", "Hüte"),
    ),
    _CLOTHES_ADJECTIVES,
)
