"""The facts that a record has once it is judged, and those of its evidence card, which has some before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType

from service.domain.notes.said import Words, words_by
from service.reports.forms.known import Fact, Known, put_into_words, same
from service.reports.verdict.content import DeviationLine, HypothesisReport, LedgerLine
from service.reports.verdict.words import (
    interval_rows,
    kind_word,
    rows_of_tests,
    slices_line,
    standing_line,
    value,
)
from service.words import LANGUAGES, Language, say
from service.words.punctuation import colon, in_parentheses, pause


def _hypotheses(known: Known) -> tuple[HypothesisReport, ...]:
    return () if known.report is None else known.report.hypotheses


def _after(hypothesis: HypothesisReport, words: Words) -> Words:
    return words_by(lambda language: f"{hypothesis.id}{colon(language)}{words.of(language)}")


def _outcomes(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        yield _after(hypothesis, hypothesis.headline)


def _not_shown(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        if hypothesis.open.en:
            yield _after(hypothesis, hypothesis.open)
    if known.report is not None and not any(hypothesis.open.en for hypothesis in _hypotheses(known)):
        yield put_into_words("forms.nothing_open")


def _scores(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        for arm in hypothesis.arms:
            mean = value(arm.mean, binary=hypothesis.binary)
            yield same(f"{hypothesis.id}, `{arm.arm}`: {mean}, n = {arm.n}")


def _intervals(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        for rows in zip(*(interval_rows(hypothesis, language) for language in LANGUAGES), strict=True):
            lines = (f"{hypothesis.id}, {what}: {span} ({how})" for what, span, how in rows)
            yield Words(**dict(zip(LANGUAGES, lines, strict=True)))


def _p_values(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        for test, estimate, _ends, _how, p in rows_of_tests(hypothesis, "en"):
            if p:
                yield same(f"{hypothesis.id}, {test}: {estimate}, p {p}")


def _judged_on(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        counts = {"n": str(hypothesis.n), "planned": str(hypothesis.n_planned)}
        yield _after(hypothesis, put_into_words("reports.judged_on", **counts))


def _results(known: Known) -> Iterator[Words]:
    if known.report is not None:
        counts = {"received": str(known.card.results_received), "expected": str(known.card.results_expected)}
        yield put_into_words("forms.results_in", **counts)


def _slices(known: Known) -> Iterator[Words]:
    for hypothesis in _hypotheses(known):
        if hypothesis.slices is not None:
            yield _after(hypothesis, words_by(partial(slices_line, hypothesis)))


def _deviations(known: Known) -> Iterator[Words]:
    if known.report is None:
        return
    if not known.report.deviations:
        yield put_into_words("reports.no_deviation")
    for deviation in known.report.deviations:
        yield words_by(partial(_deviation, deviation))


def _deviation(deviation: DeviationLine, language: Language) -> str:
    return f"{deviation.number}. {deviation.title}{colon(language)}{standing_line(deviation, language)}"


def _marks(known: Known) -> Iterator[Words]:
    if known.report is None:
        return
    if not known.report.marks:
        yield put_into_words("forms.no_mark")
    yield from known.report.marks


def _versions(known: Known) -> Iterator[Words]:
    if known.report is not None:
        yield same(", ".join(f"{name} {version}" for name, version in sorted(known.report.versions.items())))


def _ledger(known: Known) -> Iterator[Words]:
    for line in () if known.report is None else known.report.ledger:
        yield words_by(partial(_leaf, line))


def _leaf(line: LedgerLine, language: Language) -> str:
    kind, leaf = kind_word(line.kind, language), say("reports.leaf", language)
    return f"{line.at:%Y-%m-%d %H:%M} {kind}{pause(language)}{leaf} {line.sequence}"


def _describe_recomputed(known: Known) -> Iterator[Words]:
    if known.report is not None:
        yield put_into_words("forms.bundle", id=known.record.id)


def _power(known: Known) -> Iterator[Words]:
    for hypothesis in known.card.hypotheses:
        if hypothesis.power is not None and hypothesis.power_at is not None:
            yield words_by(partial(_power_at, hypothesis.hypothesis, hypothesis.power, hypothesis.power_at))


def _power_at(hypothesis: str, power: float, at: Words, language: Language) -> str:
    return f"{hypothesis}{colon(language)}{power:.3f}{in_parentheses(at.of(language), language)}"


def _limits(known: Known) -> Iterator[Words]:
    yield known.card.limits


OF_VERDICT: Mapping[str, Fact] = MappingProxyType(
    {
        "power": Fact(("card.hypotheses.power", "card.hypotheses.power_at"), _power),
        "limits": Fact(("card.limits",), _limits),
        "outcomes": Fact(("report.hypotheses.headline",), _outcomes),
        "not_shown": Fact(("report.hypotheses.open",), _not_shown),
        "scores": Fact(("report.hypotheses.arms.mean", "report.hypotheses.arms.n"), _scores),
        "intervals": Fact(("report.hypotheses.tests.ci", "report.hypotheses.arms.low"), _intervals),
        "p_values": Fact(("report.hypotheses.tests.p_value",), _p_values),
        "judged_on": Fact(("report.hypotheses.n", "report.hypotheses.n_planned"), _judged_on),
        "results": Fact(("card.results_received", "card.results_expected"), _results),
        "slices": Fact(("report.hypotheses.slices",), _slices),
        "deviations": Fact(("report.deviations",), _deviations),
        "marks": Fact(("report.marks",), _marks),
        "versions": Fact(("report.versions",), _versions),
        "ledger": Fact(("report.ledger.sequence",), _ledger),
        "recomputed": Fact(("report.versions", "report.plan_sha256"), _describe_recomputed),
    }
)
"""By name."""
