"""A plan to start from: a template, or a few questions on a terminal. Lint has the last word on either."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from forelock.problem import FileFault
from forelock.words import ENGLISH, Say

Json = dict[str, Any]
Claim = Literal["superiority", "non_inferiority", "equivalence"]
Better = Literal["higher", "lower"]
Ask = Callable[[str], str]

CLAIMS: dict[str, Claim] = {"better": "superiority", "no worse": "non_inferiority", "the same": "equivalence"}
BETTER: dict[str, Better] = {"more is better": "higher", "less is better": "lower"}
ALPHAS = (0.05, 0.01, 0.1)
"""How often a rule may hold where its claim is false; the first is usual."""
SAID = {
    "superiority": "{candidate} scores {better} than {baseline}",
    "non_inferiority": "{candidate} is not worse than {baseline} by {size} or more",
    "equivalence": "{candidate} and {baseline} differ by less than {size}",
}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a plan is made of."""

    title: str
    dataset: str
    n: int
    baseline: str
    candidate: str
    endpoint: str
    binary: bool
    claim: Claim
    size: float
    """The smallest difference that matters: percentage points, or score units."""
    clusters: str | None
    n_clusters: int | None
    independence: str | None
    better: Better = "higher"
    alpha: float = 0.05
    """How often the rule may hold where the claim is false."""


def plan_of(given: Answers) -> Json:
    """Return a plan whose rule asserts its claim by tests that fit its data."""
    unit = "pp" if given.binary else "score"
    size = f"{given.size:g} {'pp' if given.binary else 'points'}"
    population: Json = {"id": "items", "dataset": given.dataset, "n": given.n}
    if given.clusters is not None:
        population["clusters"] = {"key": given.clusters, "n": given.n_clusters}
    else:
        population["independence"] = given.independence
    tests, rule = _write_superiority(given) if given.claim == "superiority" else _write_margin(given)
    return {
        "title": given.title,
        "populations": [population],
        "hypotheses": [
            {
                "id": "H1",
                "claim": given.claim,
                "statement": SAID[given.claim].format(
                    candidate=given.candidate, baseline=given.baseline, size=size, better=given.better
                ),
                "population": "items",
                "baseline": given.baseline,
                "candidate": given.candidate,
                "endpoint": given.endpoint,
                "rule": rule,
            }
        ],
        "endpoints": [_endpoint(given)],
        "tests": tests,
        "sesoi": {given.endpoint: {"value": given.size, "unit": unit}},
        "thresholds": [],
        "stopping": {"kind": "fixed_n"},
        "missing": "fail",
        "multiplicity": {"policy": "none", "family": ["H1"]},
    }


def _endpoint(given: Answers) -> Json:
    endpoint = {"id": given.endpoint, "kind": "binary" if given.binary else "continuous", "role": "primary"}
    return endpoint if given.better == "higher" else endpoint | {"better": given.better}


def _test(given: Answers, name: str, test: str, **parameters: Any) -> Json:
    """One use of a test, at the alpha that was chosen; the usual one goes without saying."""
    if given.alpha != ALPHAS[0]:
        parameters["alpha"] = given.alpha
        if test != "equivalence":
            parameters["level"] = round(1 - given.alpha, 12)
    return {"id": name, "test": test, "version": 1, "parameters": parameters}


def _write_superiority(given: Answers) -> tuple[list[Json], str]:
    """Return the tests and the rule of a plan that claims a better candidate; clusters need two tests to agree."""
    rule = "delta > 0" if given.better == "higher" else "delta < 0"
    if given.clusters is not None:
        tests = [
            _test(given, "flips", "clustered-mcnemar", method="sign_flip"),
            _test(given, "robust", "clustered-mcnemar", method="cr2_t"),
        ]
        return tests, f"{rule} and flips.p_value < {given.alpha:g} and robust.ci excludes 0"
    name, test, method = ("mcnemar", "mcnemar", "exact") if given.binary else ("t", "t-test", "paired")
    return [_test(given, name, test, method=method)], f"{rule} and {name}.p_value < {given.alpha:g}"


def _write_margin(given: Answers) -> tuple[list[Json], str]:
    """Return the test and the rule of a plan that claims equivalence or non-inferiority within a margin."""
    tests = [
        _test(given, "margin", "equivalence", method="tango" if given.binary and not given.clusters else "t")
    ]
    if given.claim == "equivalence":
        return tests, "margin.equivalent is true"
    # `noninferior` says that the candidate is not lower; where less is better it must not be higher
    if given.better == "lower":
        return tests, f"margin.p_upper < {given.alpha:g}"
    return tests, "margin.noninferior is true"


TEMPLATE = plan_of(
    Answers(
        title="Does the new system answer more questions than the old one?",
        dataset="name and version of the data",
        n=500,
        baseline="old",
        candidate="new",
        endpoint="accuracy",
        binary=True,
        claim="superiority",
        size=2.0,
        clusters=None,
        n_clusters=None,
        independence="why no two items belong together, such as: every question is about another page",
    )
)


def ask(read: Ask | None = None, say: Say = ENGLISH) -> Json:
    """Return a plan by questions in a language; an answer that cannot be is asked for again."""
    prompt = read or _on_terminal
    baseline = _text(prompt, say, say("ask_baseline"), "old")
    candidate = _text(prompt, say, say("ask_candidate"), "new")
    binary = _ask_choice(prompt, say, say("ask_kind"), ("right or wrong", "score"))
    endpoint = _text(prompt, say, say("ask_endpoint"), "accuracy" if binary == "right or wrong" else "score")
    better = _ask_choice(prompt, say, say("ask_better", endpoint=endpoint), tuple(BETTER))
    claim = _ask_choice(prompt, say, say("ask_claim", candidate=candidate), tuple(CLAIMS))
    size = _ask_number(prompt, say, say("ask_points" if binary == "right or wrong" else "ask_units"), 2.0)
    dataset = _text(prompt, say, say("ask_dataset"), "")
    n = int(_ask_number(prompt, say, say("ask_items"), 500, whole=True))
    clusters = prompt(say("ask_clusters")).strip()
    n_clusters, why = None, None
    if clusters:
        n_clusters = int(_ask_number(prompt, say, say("ask_n_clusters", clusters=clusters), 30, whole=True))
    else:
        why = _text(prompt, say, say("ask_independence"), say("other_sources"))
    sure = _ask_choice(prompt, say, say("ask_alpha"), [f"{100 * alpha:g}%" for alpha in ALPHAS])
    title = say("two_on_data", candidate=candidate, baseline=baseline, dataset=dataset)
    return plan_of(
        Answers(
            title=_text(prompt, say, say("ask_title"), title),
            dataset=dataset,
            n=n,
            baseline=baseline,
            candidate=candidate,
            endpoint=endpoint,
            binary=binary == "right or wrong",
            claim=CLAIMS[claim],
            size=size,
            clusters=clusters or None,
            n_clusters=n_clusters,
            independence=why,
            better=BETTER[better],
            alpha=float(sure.removesuffix("%")) / 100,
        )
    )


def _on_terminal(question: str) -> str:
    """Questions go to standard error: standard output is for answers."""
    sys.stderr.write(question)
    sys.stderr.flush()
    try:
        return input()
    except EOFError:
        sys.stderr.write("\n")
        raise FileFault("the questions ended without an answer; nothing is written") from None


def _text(prompt: Ask, say: Say, question: str, default: str) -> str:
    asked = question
    while True:
        answer = prompt(f"{asked}{f' [{default}]' if default else ''} > ").strip() or default
        if answer:
            return answer
        asked = question + say("not_empty")


def _ask_choice(prompt: Ask, say: Say, question: str, choices: Sequence[str]) -> str:
    """Ask until one of the choices is named, by its number or its word; the first is the default."""
    words = {say.answer(choice): choice for choice in choices}
    listed = say("names").join(f"{number} {word}" for number, word in enumerate(words, start=1))
    prompt_text = question
    while True:
        answer = prompt(f"{prompt_text} {listed} [1] > ").strip().lower() or "1"
        if answer.isdigit() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        if answer in words or answer in choices:
            return words.get(answer, answer)
        prompt_text = question + say("write_a_number", n=len(choices))


def _ask_number(prompt: Ask, say: Say, question: str, default: float, *, whole: bool = False) -> float:
    """Ask until a number between 0 and 1e9 is written."""
    prompt_text = question
    while True:
        answer = prompt(f"{prompt_text} [{default:g}] > ").strip() or f"{default:g}"
        try:
            number = float(int(answer)) if whole else float(answer)
        except ValueError:
            number = 0.0
        if 0 < number < 1e9:
            return number
        prompt_text = question + say("whole_above_0" if whole else "above_0", like=f"{default:g}")
