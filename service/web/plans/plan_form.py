"""The five questions of a plan as a form has them: what was written, what is wrong with it, and the answers.

What a plan is made of the answers is the client's to say: `forelock plan new` asks the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from forelock.wizard import ALPHAS, TEMPLATE, Answers, Better, Claim, plan_of
from service.api.parsing.multipart import Form
from service.web.html.speech import ENGLISH, Say

MOST_ITEMS = 1_000_000
LONGEST = 200
_NEEDED = "pages.write_something_here"
_NUMBER = "pages.write_a_number_above_0"
_WHOLE = "pages.write_a_whole_number_from"
_FEWER = "pages.there_cannot_be_more_clusters"
_TWO = "pages.name_two_different_arms"
_LONG = "pages.write_at_most_200_characters"
_CHOICE = "pages.choose_one_of_these"

CLAIMS: Mapping[Claim, str] = {
    "superiority": "pages.the_candidate_is_better",
    "non_inferiority": "pages.the_candidate_is_not_worse",
    "equivalence": "pages.both_are_the_same_within",
}
STATEMENTS = {
    "superiority_higher": "pages.statement_scores_higher",
    "superiority_lower": "pages.statement_scores_lower",
    "non_inferiority": "pages.statement_not_worse",
    "equivalence": "pages.statement_differ_by_less",
}
KINDS = {"binary": "pages.right_or_wrong", "continuous": "pages.a_score"}
BETTER: Mapping[Better, str] = {"higher": "pages.more_is_better", "lower": "pages.less_is_better"}
DEFAULTS: Mapping[str, str] = {
    "title": "", "baseline": "old", "candidate": "new", "dataset": "", "kind": "binary", "endpoint": "accuracy",
    "better": "higher", "n": "500", "clusters": "", "n_clusters": "", "independence": "", "claim": "superiority",
    "size": "2", "alpha": f"{ALPHAS[0]:g}",
}  # fmt: skip

ORDER = (
    "baseline", "candidate", "dataset", "title", "kind", "endpoint", "better",
    "n", "clusters", "n_clusters", "independence", "claim", "size", "alpha",
)  # fmt: skip
"""The fields as the form asks for them, from above to below."""
COUNTED = {"kind", "better", "n", "clusters", "n_clusters", "claim", "size", "alpha"}
"""Fields that what a plan can show depends on: with a fault in one of them it is not told."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """What a form says so far."""

    written: Mapping[str, str]
    faults: Mapping[str, str]
    """By field, in the order of the form, the code of what is said of it."""
    answers: Answers
    say: Say = ENGLISH
    """In the language of whoever writes, which the plan's own sentences have as well."""

    @property
    def plan(self) -> dict[str, object]:
        """The plan of the answers; what is missing has the words of the template."""
        plan: dict[str, Any] = plan_of(self.answers)
        plan["hypotheses"][0]["statement"] = _state(self.answers, self.say)
        return plan


def _state(answers: Answers, say: Say) -> str:
    """Return what the plan claims, as a sentence."""
    claim = f"superiority_{answers.better}" if answers.claim == "superiority" else answers.claim
    size = say("pages.size_in_points" if answers.binary else "pages.size_of_score", size=f"{answers.size:g}")
    return say(STATEMENTS[claim], candidate=answers.candidate, baseline=answers.baseline, size=size)


def read_answers(form: Form | None, say: Say = ENGLISH) -> WrittenForm:
    """Return the answers in a form; without one, those that a new plan begins with."""
    written = dict(DEFAULTS) if form is None else {name: form.one(name) for name in DEFAULTS}
    faults: dict[str, str] = {}

    def take(name: str, read: Callable[[str], T], fault: str, otherwise: T) -> T:
        try:
            if len(written[name]) > LONGEST:
                faults[name] = _LONG
                return otherwise
            return read(written[name])
        except ValueError:
            faults[name] = fault
            return otherwise

    def text(name: str, otherwise: str) -> str:
        return take(name, _some, _NEEDED, otherwise)

    def choice(name: str, among: Mapping[T, str]) -> T:
        known = {str(choice): choice for choice in among}
        if written[name] not in known:
            faults[name] = _CHOICE
        return known.get(written[name], next(iter(among)))

    clustered = bool(written["clusters"])
    n = take("n", _count, _WHOLE, 500)
    n_clusters = take("n_clusters", _count, _WHOLE, 30) if clustered else None
    if n_clusters is not None and n_clusters > n:
        faults["n_clusters"], n_clusters = _FEWER, n
    blank = TEMPLATE["populations"][0]
    answers = Answers(
        title=written["title"]
        or say(
            "pages.one_against_other_on",
            **{name: written[name] for name in ("candidate", "baseline", "dataset")},
        ),
        dataset=text("dataset", blank["dataset"]),
        n=n,
        baseline=text("baseline", "old"),
        candidate=text("candidate", "new"),
        endpoint=text("endpoint", "accuracy"),
        binary=choice("kind", KINDS) == "binary",
        claim=choice("claim", CLAIMS),
        size=take("size", _size, _NUMBER, 2.0),
        clusters=take("clusters", _some, _NEEDED, None) if clustered else None,
        n_clusters=n_clusters,
        independence=None if clustered else text("independence", blank["independence"]),
        better=choice("better", BETTER),
        alpha=float(choice("alpha", {f"{alpha:g}": "" for alpha in ALPHAS})),
    )
    take("title", str, _LONG, "")
    if answers.baseline == answers.candidate:
        faults["candidate"] = _TWO
        answers = replace(answers, candidate=f"{answers.candidate}-2")
    in_order = {name: faults[name] for name in ORDER if name in faults}
    return WrittenForm(written, in_order if form is not None else {}, answers, say)


def _some(text: str) -> str:
    if not text:
        raise ValueError("nothing")
    return text


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_ITEMS:
        raise ValueError("out of range")
    return number


def _size(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and 0 < number < 1e9):
        raise ValueError("out of range")
    return number
