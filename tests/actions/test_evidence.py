"""The evidence card: what is known of a record, and nothing of its outcomes before the verdict."""

from __future__ import annotations

from service.actions.verdicts import evidence as actions
from service.store.verdicts import verdicts

from .conftest import BASELINE, CANDIDATE, N, World


def test_a_card_before_the_verdict_is_the_same_whatever_came_in(world: World) -> None:
    cards = []
    for candidate in (CANDIDATE, BASELINE):
        record = world.locked()
        world.post(record, "A", BASELINE)
        world.post(record, "B", candidate)
        card = world.write(actions.card, world.read(record))
        cards.append((card.score, card.results_received, card.hypotheses, card.marks))
    assert cards[0] == cards[1]
    assert cards[0][1] == 2 * N


def test_a_card_after_the_verdict_has_it_in_words(world: World) -> None:
    record = world.judged()
    verdict = world.write(verdicts.find, "project", record.id)
    assert verdict is not None
    said = world.write(actions.in_words, record, verdict)
    assert [each.hypothesis for each in said] == [each.id for each in verdict.hypotheses]
    before, after = (world.write(actions.card, each).model_dump_json() for each in (world.complete(), record))
    assert said[0].sentences.en not in before
    assert said[0].sentences.en in after


def test_a_draft_has_a_card_too(world: World) -> None:
    assert world.write(actions.card, world.draft()) is not None
