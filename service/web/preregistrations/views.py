"""What the page of a record shows, as records: texts in the visitor's language, and nothing to compute."""

from __future__ import annotations

from dataclasses import dataclass

from service.domain.plans.preregistration import State
from service.web.html.times import TimeView
from service.web.preregistrations.findings_view import FindingView
from service.web.preregistrations.strips import Strip


@dataclass(frozen=True, slots=True)
class ClauseView:
    """One clause of a judged rule."""

    text: str
    observed: str
    threshold: str
    truth: str
    """`holds`, `fails` or `unknown`."""
    reason: str


@dataclass(frozen=True, slots=True)
class AnalysisView:
    """What one statistical test found, in its own sentence."""

    name: str
    sentence: str
    english: bool
    """It is English on a page in another language."""


@dataclass(frozen=True, slots=True)
class SizesView:
    """What a next study needs: a sentence, a table with a row for each goal, and sentences below it."""

    lead: str
    head: list[str]
    rows: list[list[str]]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class JudgedView:
    """What the verdict says of a hypothesis."""

    outcome: str
    label: str
    unsettled: bool
    """Whether the label qualifies the outcome, so that its colour is less firm too."""
    headline: str
    """The outcome as a person would say it."""
    open: str
    """What was not shown; empty where nothing is to be said."""
    ship: str
    """Whether it is safe to ship, as far as this can say; empty of a claim about one arm."""
    known: str
    """What lint knew of it at the lock; empty where it warned of nothing."""
    decided: str
    """What made the outcome beside a rule that does not hold; else empty."""
    strip: Strip | None
    """The interval of the headline as a picture; None where it has none."""
    slice_strips: tuple[Strip | None, ...]
    """Those of the slices in their order, on one scale, against the margin."""
    sentence: str
    next: str
    next_sizes: SizesView | None
    """The same as a table, shown in its place; None where no size is known."""
    reason: str
    n: str
    clauses: tuple[ClauseView, ...]
    analyses: tuple[AnalysisView, ...]


@dataclass(frozen=True, slots=True)
class HypothesisView:
    """A hypothesis as planned, and as judged once it is."""

    id: str
    statement: str
    comparison: str
    rule: str
    judged: JudgedView | None


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that somebody did to a locked record, and why."""

    what: TimeView
    reason: str


@dataclass(frozen=True, slots=True)
class LinkView:
    """A place outside that belongs to the record."""

    name: str
    kind: str
    url: str
    external_id: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How many results are in; never what they are."""

    received: int
    expected: int


@dataclass(frozen=True, slots=True)
class Page:
    """The page of one preregistration."""

    id: str
    title: str
    authors: tuple[str, ...]
    """None to whoever reads by an anonymous link."""
    state: State
    state_sentence: str
    version: int
    plan_sha256: str
    populations: tuple[str, ...]
    arms: tuple[tuple[str, str], ...]
    """What the plan says of the systems behind the arms."""
    hypotheses: tuple[HypothesisView, ...]
    multiplicity: str
    warnings: tuple[FindingView, ...]
    """Lint's at the lock: acknowledged there, or advice."""
    progress: Progress | None
    timeline: tuple[TimeView, ...]
    since_lock: str
    """What happened since the lock, once it is judged; else empty."""
    proven: tuple[tuple[str, str], ...]
    """What it shows and what not, once it is judged: every sentence with the lead that it begins with."""
    voided: tuple[tuple[int, str], ...]
    marks: tuple[str, ...]
    overdue: bool
    embargo: str
    """Until when nobody outside the project reads it; empty where there is no embargo, or it is over."""
    family: str
    """Which registration on its items it is; empty in a draft."""
    happened: tuple[Happened, ...]
    """How it was amended, closed, withdrawn or made public."""
    links: tuple[LinkView, ...]


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """A hypothesis of a list, as it was judged."""

    hypothesis: str
    outcome: str
    label: str
    unsettled: bool
    """Whether the label qualifies the outcome."""
    headline: str
    """Empty where the plan is not what was judged."""


@dataclass(frozen=True, slots=True)
class Line:
    """One preregistration in the list."""

    id: str
    title: str
    state: str
    created: TimeView
    where: State
    progress: Progress | None
    """While results are awaited."""
    outcomes: tuple[OutcomeView, ...]
    altered: bool
    overdue: bool
