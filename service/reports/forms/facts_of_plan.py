"""The facts of a plan that checklists ask for: what was fixed before there were results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from service.domain.notes.said import Words, words_by
from service.domain.plans.sections.arms import ArmCard
from service.reports.forms.known import Fact, Known, put_into_words, same
from service.words import say
from service.words.punctuation import colon


def _title(known: Known) -> Iterator[Words]:
    if known.plan.title:
        yield same(known.plan.title)


def _authors(known: Known) -> Iterator[Words]:
    for author in known.plan.authors or ():
        yield same(author.text())


def _claims(known: Known) -> Iterator[Words]:
    for hypothesis in known.plan.hypotheses or ():
        yield same(f"{hypothesis.id}: {hypothesis.statement}")


def _comparison(known: Known) -> Iterator[Words]:
    for hypothesis in known.plan.hypotheses or ():
        against = hypothesis.baseline
        if hypothesis.reference is not None:
            against = f"{hypothesis.reference.value:g} {hypothesis.reference.unit}"
        yield same(f"{hypothesis.id}: `{hypothesis.candidate}` / `{against}` ({hypothesis.claim})")


def _describe_published(known: Known) -> Iterator[Words]:
    for hypothesis in known.plan.hypotheses or ():
        published = hypothesis.reference and hypothesis.reference.published
        if published:
            n = "" if published.n is None else f", n = {published.n}"
            yield same(f"{hypothesis.id}: {published.source}{n}")


def _rules(known: Known) -> Iterator[Words]:
    for hypothesis in known.plan.hypotheses or ():
        yield same(f"{hypothesis.id}: `{hypothesis.rule}`")


def _describe_falsified(known: Known) -> Iterator[Words]:
    for hypothesis in known.plan.hypotheses or ():
        if hypothesis.falsified_if:
            yield same(f"{hypothesis.id}: {hypothesis.falsified_if}")


def _populations(known: Known) -> Iterator[Words]:
    for population in known.plan.populations or ():
        yield same(f"{population.id}: {population.dataset}")


def _sample_size(known: Known) -> Iterator[Words]:
    for population in known.plan.populations or ():
        clusters = population.clusters
        key = "n_items" if clusters is None else "n_items_in_clusters"
        more = {} if clusters is None else {"m": str(clusters.n), "key": clusters.key}
        yield put_into_words(f"forms.{key}", id=population.id, n=str(population.n), **more)


def _items_hash(known: Known) -> Iterator[Words]:
    for population in known.plan.populations or ():
        if population.items_sha256:
            yield same(f"{population.id}: SHA-256 `{population.items_sha256}`")


def _dependence(known: Known) -> Iterator[Words]:
    for population in known.plan.populations or ():
        if population.clusters is not None:
            yield same(f"{population.id}: {population.clusters.key}, m = {population.clusters.n}")
        elif population.independence:
            yield same(f"{population.id}: {population.independence}")


def _strata(known: Known) -> Iterator[Words]:
    for population in known.plan.populations or ():
        if population.strata:
            yield same(f"{population.id}: {population.strata}")


def _endpoints(known: Known) -> Iterator[Words]:
    for endpoint in known.plan.endpoints or ():
        facts: list[str] = [endpoint.kind, endpoint.role]
        facts += [f"collapse {endpoint.collapse}"] if endpoint.collapse else []
        facts += [f"k {endpoint.k}"] if endpoint.k else []
        facts += [f"{endpoint.bounds.low:g} … {endpoint.bounds.high:g}"] if endpoint.bounds else []
        yield same(f"`{endpoint.id}`: {', '.join(facts)}")


def _judge(known: Known) -> Iterator[Words]:
    for endpoint in known.plan.endpoints or ():
        judge = endpoint.judge
        if judge is None:
            yield put_into_words("forms.no_judge", endpoint=f"`{endpoint.id}`")
        else:
            parts = (judge.model, judge.version, judge.prompt_sha256 and f"SHA-256 `{judge.prompt_sha256}`")
            yield same(f"`{endpoint.id}`: {', '.join(filter(None, parts))}")


def _replicates(known: Known) -> Iterator[Words]:
    for endpoint in known.plan.endpoints or ():
        if endpoint.replicates > 1:
            n = str(endpoint.replicates)
            yield put_into_words("forms.replicates", endpoint=f"`{endpoint.id}`", n=n)


def _estimand(known: Known) -> Iterator[Words]:
    for endpoint in known.plan.endpoints or ():
        if endpoint.estimand:
            key = f"forms.estimand_{endpoint.estimand}"
            yield put_into_words(key, endpoint=f"`{endpoint.id}`")


def _tests(known: Known) -> Iterator[Words]:
    for use in known.plan.tests or ():
        yield same(f"`{use.id}`: {use.test} v{use.version}{_settings(use.parameters)}")


def _settings(parameters: Mapping[str, Any]) -> str:
    return f" `{json.dumps(parameters, ensure_ascii=False, sort_keys=True)}`" if parameters else ""


def _sesoi(known: Known) -> Iterator[Words]:
    for endpoint, margin in (known.plan.sesoi or {}).items():
        yield same(f"`{endpoint}`: ±{float(margin.value):g} {margin.unit}")


def _thresholds(known: Known) -> Iterator[Words]:
    if known.plan.thresholds == ():
        yield put_into_words("forms.no_threshold")
    for threshold in known.plan.thresholds or ():
        split = f", {threshold.split}" if threshold.split else ""
        yield same(f"{threshold.name} = {threshold.value:g}: {threshold.chosen_by}{split}")


def _split(known: Known) -> Iterator[Words]:
    for threshold in known.plan.thresholds or ():
        if threshold.split:
            yield same(f"{threshold.name}: {threshold.split}")


def _stopping(known: Known) -> Iterator[Words]:
    if known.plan.stopping is not None:
        rule = known.plan.stopping.model_dump(mode="json", exclude_none=True)
        yield same(", ".join(f"{name} `{value}`" for name, value in rule.items()))


def _missing(known: Known) -> Iterator[Words]:
    if known.plan.missing is not None:
        missing = known.plan.missing
        yield words_by(
            lambda language: f"`{missing}`{colon(language)}{say(f'prereg.gloss_missing_{missing}', language)}"
        )


def _multiplicity(known: Known) -> Iterator[Words]:
    policy = known.plan.multiplicity
    if policy is not None:
        family = f": {', '.join(policy.family)}" if policy.family else ""
        yield same(f"`{policy.policy}`{family}")


def _environment(known: Known) -> Iterator[Words]:
    runs = known.plan.runs
    for name, value in ((runs and runs.environment) or {}).items():
        yield same(f"{name} = {value}")


def _of_cards(shown: Callable[[ArmCard], str]) -> Callable[[Known], Iterator[Words]]:
    def read(known: Known) -> Iterator[Words]:
        for card in known.plan.arm_cards or ():
            text = shown(card)
            if text:
                yield same(f"`{card.id}`: {text}")

    return read


def _facts_of_card(*prefixes: str) -> Callable[[ArmCard], str]:
    def shown(card: ArmCard) -> str:
        facts = ((name, value) for name, value in card.facts().items() if name.split(".")[0] in prefixes)
        return ", ".join(
            f"{name} {' + '.join(map(str, value)) or '-' if isinstance(value, list) else value}"
            for name, value in facts
        )

    return shown


def _lock(known: Known) -> Iterator[Words]:
    record = known.record
    if record.locked_at is not None:
        yield same(
            f"{record.locked_at:%Y-%m-%d %H:%M:%S %Z}, v{record.version}, SHA-256 `{record.plan_sha256}`"
        )


def _links(known: Known) -> Iterator[Words]:
    for link in known.links:
        yield same(f"{link.name}: {link.url}")


OF_PLAN: Mapping[str, Fact] = MappingProxyType(
    {
        "title": Fact(("plan.title",), _title),
        "authors": Fact(("plan.authors",), _authors),
        "claims": Fact(("plan.hypotheses.statement",), _claims),
        "comparison": Fact(
            ("plan.hypotheses.candidate", "plan.hypotheses.baseline", "plan.hypotheses.reference"),
            _comparison,
        ),
        "published": Fact(("plan.hypotheses.reference.published",), _describe_published),
        "rules": Fact(("plan.hypotheses.rule",), _rules),
        "falsified_if": Fact(("plan.hypotheses.falsified_if",), _describe_falsified),
        "populations": Fact(("plan.populations.dataset",), _populations),
        "sample_size": Fact(("plan.populations.n", "plan.populations.clusters.n"), _sample_size),
        "items_sha256": Fact(("plan.populations.items_sha256",), _items_hash),
        "dependence": Fact(("plan.populations.clusters", "plan.populations.independence"), _dependence),
        "strata": Fact(("plan.populations.strata",), _strata),
        "endpoints": Fact(("plan.endpoints",), _endpoints),
        "judge": Fact(("plan.endpoints.judge",), _judge),
        "replicates": Fact(("plan.endpoints.replicates",), _replicates),
        "estimand": Fact(("plan.endpoints.estimand",), _estimand),
        "tests": Fact(("plan.tests.test", "plan.tests.version", "plan.tests.parameters"), _tests),
        "sesoi": Fact(("plan.sesoi",), _sesoi),
        "thresholds": Fact(("plan.thresholds",), _thresholds),
        "split": Fact(("plan.thresholds.split",), _split),
        "stopping": Fact(("plan.stopping",), _stopping),
        "missing": Fact(("plan.missing",), _missing),
        "multiplicity": Fact(("plan.multiplicity",), _multiplicity),
        "environment": Fact(("plan.runs.environment",), _environment),
        "models": Fact(("plan.arms.model",), _of_cards(_facts_of_card("model"))),
        "prompts": Fact(("plan.arms.prompt_sha256",), _of_cards(_facts_of_card("prompt_sha256"))),
        "decoding": Fact(("plan.arms.decoding",), _of_cards(_facts_of_card("decoding"))),
        "tools": Fact(("plan.arms.tools",), _of_cards(_facts_of_card("tools"))),
        "harness": Fact(("plan.arms.harness",), _of_cards(_facts_of_card("harness"))),
        "system": Fact(("plan.arms.system", "plan.arms.more"), _of_cards(_facts_of_card("system", "more"))),
        "lock": Fact(("record.locked_at", "record.plan_sha256"), _lock),
        "links": Fact(("links.url",), _links),
    }
)
"""By name."""
