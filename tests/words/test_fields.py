"""What the fields of requests mean is told in every language, and the catalogue has no other sentences."""

from __future__ import annotations

import pytest

from service.stats.shared.declaring import registry
from service.words import LANGUAGES, catalogue, read

ROOM = "fields"
NAMES = sorted(registry.latest())
OTHERS = [language for language in LANGUAGES if language != "en"]


def meanings_of(name: str) -> set[str]:
    """What a page says of the fields of a test's request."""
    fields = registry.latest()[name].request.model_fields.values()
    return {field.description for field in fields if field.description}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_field_means_has_a_sentence_in_every_language(name: str) -> None:
    told = {english: read(ROOM, english) for english in meanings_of(name)}
    assert [english for english, known in told.items() if known is None] == [], "service/words/*/fields.toml"
    for language in OTHERS:
        assert all(known.text(language) != english for english, known in told.items() if known is not None)


def test_the_room_has_no_sentence_that_no_test_says() -> None:
    meanings = set().union(*map(meanings_of, NAMES))
    texts = {code: template.fill({}) for code, template in catalogue.templates("en", ROOM).items()}
    assert {code for code, text in texts.items() if text not in meanings} == set()
