"""Words of several languages, for labels and texts of generated documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random

_WORDS: Final = {
    "en": (
        "river bridge museum the of and in old station collection northern family "
        "painter published between university award council population library "
        "garden coast founded which region century music archive known village"
    ),
    "de": (
        "Fluss Brücke Museum der die und in alte Bahnhof Sammlung nördlich Straße "
        "Malerin veröffentlicht zwischen Universität Preis Rat Bevölkerung Größe "
        "Bücherei Küste gegründet Gegend Jahrhundert Musik bekannt Dorf für"
    ),
    "fr": (
        "rivière pont musée le la et dans ancienne gare collection île famille "
        "peintre publié entre université prix conseil population bibliothèque "
        "côte fondée région siècle musique archives connue où forêt château"
    ),
    "ru": (
        "река мост музей и в старый вокзал собрание северный семья художник "
        "издан между университет премия совет население библиотека сад берег"  # noqa: RUF001
    ),
    "el": (
        "ποτάμι γέφυρα μουσείο και στο παλιός σταθμός συλλογή βόρειος οικογένεια "
        "ζωγράφος πανεπιστήμιο βραβείο συμβούλιο πληθυσμός βιβλιοθήκη κήπος"
    ),
    "ja": "川 橋 博物館 古い 駅 収集 北部 家族 画家 出版 大学 賞 評議会 人口",
    "pt-BR": (
        "rio ponte museu o da e em antiga estação coleção família pintora entre "
        "universidade prêmio conselho população biblioteca jardim região século"
    ),
}
WORDS: Final = {language: words.split() for language, words in _WORDS.items()}
LANGUAGES: Final = tuple(WORDS)


def text(rng: random.Random, n_words: int, language: str = "en") -> str:
    """Return words of a language, without punctuation."""
    return " ".join(rng.choices(WORDS[language], k=n_words))


def prose(rng: random.Random, n_words: int, language: str = "en") -> str:
    """Return sentences, some with characters that each syntax has to escape."""
    sentences = []
    while n_words > 0:
        n = min(n_words, rng.randint(6, 22))
        words = text(rng, n, language)
        match rng.randrange(12):
            case 0:
                words = f'"{words}"'
            case 1:
                words = words.replace(" ", " & ", 1)
            case 2:
                words += f" <{rng.randint(1, 99)} %"
        sentences.append(words[:1].upper() + words[1:] + ".")
        n_words -= n
    return (" " if len(sentences) < 6 else "\n").join(sentences)
