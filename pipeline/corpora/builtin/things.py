"""Lexicon: nouns for things and places, in kinds like those of `nouns`."""

from pipeline.corpora.builtin import modifiers as m
from pipeline.corpora.builtin.words import Kind, Noun

READING = Kind(
    (
        Noun("book", "Buch", "n", "Bücher"),
        Noun("letter", "Brief", "m", "Briefe"),
        Noun("novel", "Roman", "m", "Romane"),
        Noun("poem", "Gedicht", "n", "Gedichte"),
        Noun("report", "Bericht", "m", "Berichte"),
        Noun("story", "Geschichte", "f", "Geschichten"),
    ),
    (
        *(m.BORING, m.DIFFICULT, m.EXCITING, m.FUNNY, m.GOOD, m.INTERESTING, m.LONG),
        *(m.NEW, m.OLD, m.SAD, m.SHORT),
    ),
)
VEHICLES = Kind(
    (
        Noun("bicycle", "Fahrrad", "n", "Fahrräder"),
        Noun("boat", "Boot", "n", "Boote"),
        Noun("car", "Auto", "n", "Autos"),
        Noun("motorcycle", "Motorrad", "n", "Motorräder"),
        Noun("tractor", "Traktor", "m", "Traktoren"),
        Noun("truck", "Lastwagen", "m", "Lastwagen"),
    ),
    (
        *(m.BEAUTIFUL, m.BIG, m.BLACK, m.BLUE, m.CHEAP, m.DIRTY, m.EXPENSIVE, m.FAST),
        *(m.GREEN, m.MODERN, m.NEW, m.OLD, m.RED),
    ),
)
DEVICES = Kind(
    (
        Noun("camera", "Kamera", "f", "Kameras"),
        Noun("coffee machine", "Kaffeemaschine", "f", "Kaffeemaschinen"),
        Noun("computer", "Computer", "m", "Computer"),
        Noun("lamp", "Lampe", "f", "Lampen"),
        Noun("radio", "Radio", "n", "Radios"),
        Noun("television", "Fernseher", "m", "Fernseher"),
        Noun("washing machine", "Waschmaschine", "f", "Waschmaschinen"),
    ),
    (m.BIG, m.CHEAP, m.EXPENSIVE, m.HEAVY, m.MODERN, m.NEW, m.OLD, m.SMALL, m.WHITE),
)
FURNITURE = Kind(
    (
        Noun("armchair", "Sessel", "m", "Sessel"),
        Noun("bed", "Bett", "n", "Betten"),
        Noun("bench", "Bank", "f", "Bänke"),
        Noun("chair", "Stuhl", "m", "Stühle"),
        Noun("desk", "Schreibtisch", "m", "Schreibtische"),
        Noun("garden chair", "Gartenstuhl", "m", "Gartenstühle"),
        Noun("kitchen table", "Küchentisch", "m", "Küchentische"),
        Noun("sofa", "Sofa", "n", "Sofas"),
        Noun("table", "Tisch", "m", "Tische"),
    ),
    (m.BEAUTIFUL, m.BIG, m.BROWN, m.DARK, m.HEAVY, m.NEW, m.OLD, m.RED, m.SMALL),
)
BELONGINGS = Kind(
    (
        Noun("ball", "Ball", "m", "Bälle"),
        Noun("basket", "Korb", "m", "Körbe"),
        Noun("car key", "Autoschlüssel", "m", "Autoschlüssel"),
        Noun("flower", "Blume", "f", "Blumen"),
        Noun("house key", "Hausschlüssel", "m", "Hausschlüssel"),
        Noun("key", "Schlüssel", "m", "Schlüssel"),
        Noun("knife", "Messer", "n", "Messer"),
        Noun("newspaper", "Zeitung", "f", "Zeitungen"),
        Noun("picture", "Bild", "n", "Bilder"),
        Noun("postcard", "Postkarte", "f", "Postkarten"),
        Noun("spoon", "Löffel", "m", "Löffel"),
        Noun("teacup", "Teetasse", "f", "Teetassen"),
        Noun("ticket", "Fahrkarte", "f", "Fahrkarten"),
        Noun("umbrella", "Regenschirm", "m", "Regenschirme"),
        Noun("wine glass", "Weinglas", "n", "Weingläser"),
    ),
    (m.BEAUTIFUL, m.BIG, m.CHEAP, m.NEW, m.OLD, m.SMALL),
)
CONTAINERS = Kind(
    (
        Noun("bag", "Tasche", "f", "Taschen"),
        Noun("bottle", "Flasche", "f", "Flaschen"),
        Noun("box", "Kiste", "f", "Kisten"),
        Noun("gift", "Geschenk", "n", "Geschenke"),
        Noun("school bag", "Schultasche", "f", "Schultaschen"),
        Noun("suitcase", "Koffer", "m", "Koffer"),
    ),
    (m.BEAUTIFUL, m.BIG, m.BLUE, m.GREEN, m.HEAVY, m.NEW, m.RED, m.SMALL, m.YELLOW),
)
OPENINGS = Kind(
    (
        Noun("door", "Tür", "f", "Türen"),
        Noun("gate", "Tor", "n", "Tore"),
        Noun("window", "Fenster", "n", "Fenster"),
    ),
    (m.BIG, m.BLUE, m.GREEN, m.HEAVY, m.NEW, m.OLD, m.SMALL, m.WHITE),
)
ROOMS = Kind(
    (
        Noun("bedroom", "Schlafzimmer", "n", "Schlafzimmer"),
        Noun("cellar", "Keller", "m", "Keller"),
        Noun("garage", "Garage", "f", "Garagen"),
        Noun("kitchen", "Küche", "f", "Küchen"),
        Noun("living room", "Wohnzimmer", "n", "Wohnzimmer"),
        Noun("office", "Büro", "n", "Büros"),
    ),
    (m.BIG, m.CLEAN, m.COLD, m.DARK, m.DIRTY, m.MODERN, m.NEW, m.OLD, m.SMALL, m.WARM),
)
BUILDINGS = Kind(
    (
        Noun("bakery", "Bäckerei", "f", "Bäckereien"),
        Noun("castle", "Schloss", "n", "Schlösser"),
        Noun("church", "Kirche", "f", "Kirchen"),
        Noun("cinema", "Kino", "n", "Kinos"),
        Noun("factory", "Fabrik", "f", "Fabriken"),
        Noun("hospital", "Krankenhaus", "n", "Krankenhäuser"),
        Noun("hotel", "Hotel", "n", "Hotels"),
        Noun("house", "Haus", "n", "Häuser"),
        Noun("library", "Bibliothek", "f", "Bibliotheken"),
        Noun("museum", "Museum", "n", "Museen"),
        Noun("restaurant", "Restaurant", "n", "Restaurants"),
        Noun("school", "Schule", "f", "Schulen"),
        Noun("supermarket", "Supermarkt", "m", "Supermärkte"),
        Noun("train station", "Bahnhof", "m", "Bahnhöfe"),
    ),
    (m.BEAUTIFUL, m.BIG, m.CLEAN, m.FAMOUS, m.MODERN, m.NEW, m.OLD, m.QUIET, m.SMALL),
)
OUTDOORS = Kind(
    (
        Noun("city", "Stadt", "f", "Städte"),
        Noun("forest", "Wald", "m", "Wälder"),
        Noun("garden", "Garten", "m", "Gärten"),
        Noun("park", "Park", "m", "Parks"),
        Noun("village", "Dorf", "n", "Dörfer"),
    ),
    (m.BEAUTIFUL, m.BIG, m.OLD, m.QUIET, m.SMALL),
)
# What comes and goes by a timetable, and what begins and ends by a programme.
TRAINS = Kind(
    (
        Noun("bus", "Bus", "m", "Busse"),
        Noun("ship", "Schiff", "n", "Schiffe"),
        Noun("train", "Zug", "m", "Züge"),
    ),
    (m.BIG, m.FAST, m.MODERN, m.NEW, m.OLD),
)
EVENTS = Kind(
    (
        Noun("concert", "Konzert", "n", "Konzerte"),
        Noun("film", "Film", "m", "Filme"),
        Noun("game", "Spiel", "n", "Spiele"),
        Noun("party", "Party", "f", "Partys"),
    ),
    (m.BORING, m.EXCITING, m.GOOD, m.LONG, m.NEW, m.SHORT),
)
