"""A sentence says the same figures in every language: none is left out where it is told in Chinese."""

from __future__ import annotations

import re

import pytest

from service.domain.power.distributions.shapes import name_shape
from service.words import LANGUAGES, message, read, say
from service.words.catalogue import HOME, templates

ROOMS = sorted(path.stem for path in (HOME / "en").glob("*.toml"))
OTHERS = [language for language in LANGUAGES if language != "en"]
WORDS_OF_ENGLISH = {
    "faults.is_not_json_at": {"msg"},  # what the parser of JSON says, in English
    "faults.verdict_comes": {"state"},
    "findings.level_of_threshold_otherwise": {"unknown"},
    "findings.level_unknown_otherwise": {"why"},
    "reasons.unit_difference_alike": {"unit"},
    "reasons.unit_difference_no_error": {"unit"},
    "reasons.few_sign_patterns": {"unit"},
    "reasons.common_too_few": {"unit"},
    "reasons.common_few_in_task": {"unit"},
    "refusals.wrong_state": {"action"},
}
"""Fields whose values are English words, and which another language says by itself."""
FIGURE = re.compile(r"(?<![A-Za-z])\d+(?:,\d{3})*(?:\.\d+)?")


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("room", ROOMS)
def test_every_language_says_every_value(room: str, language: str) -> None:
    lacking = [
        f"service/words/{language}/{room}.toml, {code}: does not say {', '.join(sorted(unsaid))}"
        for code in templates("en", room)
        if (unsaid := dropped(language, room, code) - WORDS_OF_ENGLISH.get(f"{room}.{code}", set()))
    ]
    assert not lacking, "\n".join(lacking)


def dropped(language: str, room: str, code: str) -> set[str]:
    """Values of an English text that the language does not say."""
    return {*templates("en", room)[code].specs} - templates(language, room)[code].names


@pytest.mark.parametrize("name", WORDS_OF_ENGLISH)
def test_what_may_be_left_out_is_left_out_by_some_language(name: str) -> None:
    room, _, code = name.partition(".")
    assert WORDS_OF_ENGLISH[name] in [dropped(language, room, code) for language in OTHERS]


def low_power(where: str, key: str = "low_power", **values: str) -> str:
    truth = say("findings.true_difference", size="2 pp", name=message("power.at_sesoi"))
    at = {"truth": truth, "low": "0.066 ± 0.01", "where": where, "target": "0.8", "elsewhere": ""}
    return say(f"findings.{key}", **{**at, **values})


LOST = name_shape("unseen_losses").text("en")
CHANCES = "0.41 ± 0.02 with 4 pp, <0.0001 with -6 pp"
SENTENCES = [
    low_power("20% of items discordant, an ICC of 0.1, a judge who agrees with people by 0.93, 5% of results not ok"),
    low_power(
        f"an SD of 0.25, {LOST}",
        "low_power_range",
        high="0.31 ± 0.01",
        where_high="an SD of 0.125, differences skewed to the left (a few large losses), no other hypothesis true",
        elsewhere=say("findings.chances_elsewhere_from", where=f"an SD of 0.18, {LOST}", own="0.2", listed=CHANCES),
    ),
    low_power(
        "a coefficient of variation of 0.7",
        "low_power_half",
        elsewhere=say("findings.chances_elsewhere", listed=CHANCES),
        least="2 pp",
        size="2 pp",
    ),
    say(
        "findings.level_exceeded_beside",
        chance="0.12",
        error=say("findings.simulated_error", error="0.0023"),
        limit=say("findings.limit_above", limit="0.055", alpha="0.05"),
        world="a true difference of 3 pp, 0.2 of items discordant and items of a cluster correlated by 0.15, most "
        "items tied",
        normal="0.048",
        way_out=say("findings.way_unseen_losses", version=2, test="fixed-items"),
    ),
    say(
        "findings.one_arm_level",
        name="H9",
        chance="0.11",
        error="",
        limit=say("findings.limit_alpha", alpha="0.05"),
        world=say("findings.level_at_icc", mean="90%", icc="0.3"),
    ),
    say(
        "findings.one_arm_low_power",
        power="0.33",
        truth=say("findings.true_mean", mean="95%"),
        target="0.8",
        elsewhere=say("findings.also_at", listed="0.5 with 97%, 0.9 ± 0.01 with 99%"),
    ),
    say("findings.level_unknown", why=say("power.levels_simulated_up_to", most=20000)),
    say(
        "findings.level_of_threshold",
        clause="m.p_value < 0.2",
        alpha="0.05",
        unknown=say("power.simulated_within", error="0.061"),
    ),
    say(
        "findings.unattainable",
        reasons="`m.p_value < 0.01` can never hold, because with 5 items the least p of McNemar's exact test is "
        "0.0625, and `holm` over 3 hypotheses makes it at least 0.1875; `n >= 7` can never hold, because it counts "
        "at most 6; `a < 0.1` and `a > 0.2` contradict each other",
        ways_out="plan at least 8 items, fewer hypotheses in the family, or the policy `bonferroni` or `none`",
    ),
    say(
        "findings.mend",
        steps='turn that round, add the test {"id": "b", "test": "bootstrap"} and add the clause `b.ci excludes 0`',
        rule="b.ci excludes 0 and delta > 0",
    ),
]  # fmt: skip


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_stored_finding_is_told_with_all_its_figures(sentence: str, language: str) -> None:
    known = read("findings", sentence)
    assert known is not None
    assert known.text("en") == sentence
    told = known.text(language)
    assert sorted(FIGURE.findall(told)) == sorted(FIGURE.findall(sentence)), told
    left = word_pairs(told) & word_pairs(sentence)
    assert not left, f"{told}: still says {', '.join(sorted(left))}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("room", ROOMS)
def test_no_figure_begins_with_its_point(room: str, language: str) -> None:
    bare = [
        f"service/words/{language}/{room}.toml, {code}: {literal}"
        for code, template in templates(language, room).items()
        for literal, _, _ in template.parts
        if re.search(r"(?<![\w.\])])\.\d", literal)
    ]
    assert not bare, "\n".join(bare)


def word_pairs(text: str) -> set[str]:
    """Every two words beside one another, code left out: languages in Latin letters share single ones with English."""
    return set(re.findall(r"(?=\b([A-Za-z]{3,} [a-z]{2,})\b)", re.sub("`[^`]*`", "", text)))


def test_sentences_in_a_row_may_have_commas_of_their_own() -> None:
    known = read("findings", say("findings.chances_elsewhere", listed="0.5 with 2 pp, 0.9 with 4 pp"))
    assert known is not None
    assert known.text("zh") == "（2 个百分点时为 0.5，4 个百分点时为 0.9）"
    assert read("findings", say("findings.chances_elsewhere", listed="0.5 with 2 pp, and so on")) is None
    assert (
        read("findings", say("findings.chances_elsewhere", listed=", ".join(["0.5 with 2 pp"] * 5000)))
        is None
    )
