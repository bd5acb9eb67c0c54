"""What the results of a plan show of one hypothesis: one data set, read from the answers of its tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from service.domain.decision.evidence import NOT_KNOWN, Fallback, Floats, Sides
from service.domain.decision.family import Family
from service.domain.decision.members import p_clauses
from service.domain.rules.answers import Answer, JsonObject, Observation
from service.domain.rules.claims.clauses import meaning_of, weighs_clusters
from service.domain.rules.rule import Clause, Comparison, Excludes, Is, Within
from service.domain.rules.settings import Setting
from service.domain.rules.truth import Column, Ends, Observed, Truth, holds, holds_throughout
from service.domain.verdicts.pairs import Paired
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict
from service.domain.verdicts.worst_case import Way
from service.stats.shared.declaring.certainty import DRAWN
from service.stats.shared.declaring.sentences import bound_text
from service.stats.shared.declaring.shows import PValue
from service.words import say

NO_CLAUSE = "the rule has no clause that asks for a small p-value"


@dataclass(frozen=True, eq=False)
class Filling:
    """One filling of what is missing: the pairs that it makes, and what the tests answer on them."""

    answers: Mapping[str, JsonObject]
    """Of every test that the rule is read from, by its id."""
    delta: Fraction | None = None
    """Candidate minus baseline, exactly; None without items."""
    pairs: Paired | None = None
    """None where the results break the plan."""
    way: Way | None = None
    """How what is missing is taken; None: as the plan's policy takes it, against the claim or not at all."""


@dataclass(frozen=True, eq=False)
class ObservedEvidence:
    """One hypothesis on the results that are in. Numbers that are drawn have C = 3: as found, the least, the most."""

    setting: Setting
    fillings: tuple[Filling, ...]
    """Those that the rule is read from: its ways."""
    by_policy: Mapping[str, JsonObject] = field(default_factory=dict)
    """The answers of every test on what the plan's policy alone makes of the results, whatever the ways are."""
    beside: tuple[tuple[Way | None, JsonObject], ...] = ()
    """The answers of the equivalence test beside the rule, by filling: it has to find equivalence in all of them."""
    others: Mapping[str, Paired] = field(default_factory=dict)
    """The pairs on the other endpoints that the rule speaks of."""
    violation: str | None = None
    """How the results break the plan; nothing is observed then."""

    @property
    def ways(self) -> int:
        """Fillings that the rule is read from."""
        return len(self.fillings)

    def pairs_of(self, filled: Way | None) -> Paired | None:
        """Return the pairs that a verdict was read from, by how it says that what is missing was `filled` in."""
        # Where there is one filling alone it has no name here, though the verdict may name the way that it went.
        if len(self.fillings) == 1:
            return self.fillings[0].pairs
        return next(filling.pairs for filling in self.fillings if filling.way == filled)

    def read_clause(self, clause: Clause, way: int, family: Family) -> ClauseVerdict:
        """Return a clause with what was observed, its p-value as the family adjusts it.

        It is unknown where a bound, or chance in what is drawn, leaves it open.
        """
        hypothesis, filling, test = self.setting.hypothesis.id, self.fillings[way], clause.field.test
        if filling.pairs is None:
            raw = Observation(None, say("reasons.results_break_plan"))
        elif test is None:
            why = say("reasons.no_item_to_compare") if filling.delta is None else None
            raw = Observation(filling.delta, why)
        elif test not in filling.answers:
            raw = Observation(None, say("reasons.no_test", test=test))
        else:
            raw = Answer(filling.answers[test]).observe(*clause.field.path)

        seen, corrected = raw, family.corrects(hypothesis, clause) and isinstance(raw.value, float | int)
        if corrected:
            seen = _adjust(raw, family.adjust(hypothesis, _p_range(raw)))

        truth, reason = holds(clause, seen.value), seen.reason
        if seen.bound is not None and isinstance(clause, Comparison) and isinstance(seen.value, float):
            truth = _of_bound(clause, seen.value, seen.bound, truth)
            reason = say("reasons.bound", bound=seen.bound) if truth is None else reason
        if truth is not None and seen.corners and holds_throughout(clause, seen.value, seen.corners) is None:
            truth, reason = None, seen.reason or DRAWN
        elif truth is None and reason is None:
            reason = say("reasons.not_comparable", field=str(clause.field))
        return ClauseVerdict(
            text=str(clause),
            observed=_record(seen.value),
            threshold=_threshold(clause),
            holds=truth,
            reason=reason if truth is None else None,
            unadjusted=float(raw.value) if corrected and isinstance(raw.value, float | int) else None,
        )

    def p_value(self, clause: Clause, way: int) -> Floats | None:
        """Return the p-value of a clause, (3, 1), NaN where it is undefined."""
        return _p_range(Answer.of(self.fillings[way].answers, clause.field.test).observe(*clause.field.path))

    def why_no_p(self) -> str | None:
        """Say why the hypothesis has no p-value in its family; None where it has one."""
        clauses = p_clauses(self.setting)
        for filling in self.fillings:
            for clause in clauses:
                if clause.field.test not in filling.answers:
                    return "its tests were not computed"
                seen = Answer.of(filling.answers, clause.field.test).observe(*clause.field.path)
                if np.isnan(_p_range(seen)).any():
                    return seen.reason or say("reasons.undefined", field=str(clause.field))
        return None if clauses else NO_CLAUSE

    def observed(self, way: int, *, clusters_alike: bool) -> Column:
        """Exactly; where the rule weighs clusters alike, the estimate of its test."""
        delta = self.fillings[way].delta
        if clusters_alike and delta is not None:
            estimate = self._read_cluster_weighted(way)
            delta = delta if estimate is None else estimate
        return np.array([delta], dtype=object)

    def _read_cluster_weighted(self, way: int) -> Fraction | None:
        """Return the difference that weighs clusters alike, from the first test that estimates it; None without."""
        for clause in self.setting.clauses:
            use = self.setting.use_of(clause)
            if use is None or not weighs_clusters(use, clause):
                continue
            for path in (("estimates", "cluster_weighted"), ("delta",)):
                value = Answer.of(self.fillings[way].answers, use.use.id).observe(*path).value
                if isinstance(value, float):
                    return Fraction(value)
        return None

    def side(self, clause: Clause, way: int) -> Sides | None:
        """Of an interval that excludes a value, and of a two-sided test where the difference does not tell its side."""
        if isinstance(clause, Excludes):
            return np.array([_side_of(clause, self.fillings[way].answers)])
        use = self.setting.use_of(clause)
        if use is None or not isinstance(clause, Comparison):
            return None
        meaning = meaning_of(use, clause.field.path)[0]
        if not isinstance(meaning, PValue) or meaning.lean is None:
            return None
        value = Answer.of(self.fillings[way].answers, use.use.id).observe(*meaning.lean).value
        return np.array([(value > 0) - (value < 0) if isinstance(value, int | float) else NOT_KNOWN])

    @property
    def fallback(self) -> Fallback | None:
        """Over both fillings of what is missing, whatever the claim."""
        if self.setting.hypothesis.equivalence is None:
            return None
        answers = [answer for _, answer in self.beside]
        equivalent = [Answer(answer).observe("equivalent").value is True for answer in answers]
        hardest = max(answers, key=hardness, default=None)
        alpha = None if hardest is None else Answer(hardest).analysis.alpha
        holds_up = np.array([bool(equivalent) and all(equivalent)])
        return Fallback(holds_up, _tost_p(answers), math.nan if alpha is None else alpha)


def hardness(answer: JsonObject) -> tuple[int, float]:
    """Of two answers of an equivalence test the larger one counts: false, undefined, true; then the larger p."""
    equivalent, p = Answer(answer).observe("equivalent").value, largest_tost_p([answer])
    # A p that is not known is taken for the largest.
    return 0 if equivalent is True else 2 if equivalent is False else 1, 1.0 if p is None else p


def largest_tost_p(answers: Sequence[JsonObject]) -> float | None:
    """The largest p of two one-sided tests, over both sides and all answers; None where one has no such p-values."""
    p = float(_tost_p(answers)[0, 0])
    return None if math.isnan(p) else p


def _tost_p(answers: Sequence[JsonObject]) -> Floats:
    columns = [
        _p_range(Answer(answer).observe(name)) for answer in answers for name in ("p_lower", "p_upper")
    ]
    # NaN wins over every number: a test without one of its p-values has none.
    return np.maximum.reduce(columns) if columns else _p_range(None)


def _p_range(seen: Observation | None) -> Floats:
    """A p-value with the least and the most that it may be where it is drawn, (3, 1); NaN where it is undefined."""
    value = None if seen is None else seen.value
    if seen is None or isinstance(value, bool) or not isinstance(value, float | int):
        return np.full((3, 1), np.nan)
    ends = [float(corner) for corner in seen.corners if isinstance(corner, float | int)] or [value, value]
    return np.array([[value], [ends[0]], [ends[1]]], dtype=np.float64)


def _adjust(raw: Observation, adjusted: Floats) -> Observation:
    """Return the observation with the adjusted p-value in its place; an adjusted p grows with every p of its family."""
    value, *ends = adjusted[:, 0].tolist()
    drawn = tuple(ends) if any(end != value for end in ends) else ()
    return Observation(value, raw.reason, None if raw.bound is None else bound_text(value), drawn)


def _of_bound(clause: Comparison, observed: float, bound: str, truth: Truth) -> Truth:
    """Return the truth of a clause on a value known only as `< observed`: unknown for thresholds below that."""
    threshold = float(clause.value.exact())
    if threshold > observed:
        return truth
    if threshold == observed and bound.startswith("< "):  # strictly below the threshold, then
        return clause.operator in ("<", "<=", "!=")
    return None


def _side_of(clause: Excludes, answers: Mapping[str, JsonObject]) -> int:
    ends = Answer.of(answers, clause.field.test).observe(*clause.field.path).value
    if not isinstance(ends, Ends):
        return NOT_KNOWN
    return 1 if ends.low is not None and ends.low > float(clause.value.exact()) else -1


def _threshold(clause: Clause) -> float | Span | bool:
    if isinstance(clause, Is):
        return clause.value
    if isinstance(clause, Within):
        return Span(low=float(clause.low.exact()), high=float(clause.high.exact()))
    return float(clause.value.exact())


def _record(observed: Observed) -> float | Span | bool | None:
    if isinstance(observed, bool):
        return observed
    if isinstance(observed, Ends):
        return Span(low=_finite(observed.low), high=_finite(observed.high))
    return None if observed is None else _finite(float(observed))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
