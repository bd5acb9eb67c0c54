"""Plans and data for the search over rules: every test, claim, margin and kind of endpoint; data of every lean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.checks.claim import claim_findings
from service.domain.checks.mending import mend
from service.domain.checks.rule import rule_findings
from service.domain.checks.stopping import sequential_findings, stopping_findings
from service.domain.checks.tests import parameter_findings, use_findings
from service.domain.plans.findings import Finding
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.rules.settings import resolve
from service.domain.verdicts.outcomes import NOT_DRAWN, OK, Cell, Outcomes
from service.domain.verdicts.records import HypothesisVerdict
from service.stats.shared.declaring import registry, shows
from tests.domain import sample
from tests.stats.cases import declared

Floats = NDArray[np.float64]

N = 30
SIZES = (9, 6, 4, 3, 3, 2, 2, 1)
"""Of the clusters, which differ much."""
SESOI = {"binary": 0.02, "bounded": 0.05, "scores": 2.0, "amounts": 2.0, "runs": 0.05}
KINDS = (*SESOI, "clustered", "looks", "labelled")
LABELS = 12
"""Items that people label, of the kind that has a judge."""
VARIED = {name: cases.varied for name, cases in declared().items() if cases.varied is not None}
CLAIMS = ("superiority", "minimum_effect", "non_inferiority", "equivalence")
STATEMENTS = {
    "superiority": ("C2 and C1 compare", "C2 exceeds C1 by at least {size}"),
    "minimum_effect": ("C2 and C1 compare", "C2 exceeds C1 by at least {size}"),
    "non_inferiority": ("C2 and C1 compare", "C2 is not worse than C1 by more than {size}"),
    "equivalence": ("C2 and C1 compare", "C2 and C1 differ by less than {size}"),
}
REASON = "the regulator allows that much"


def own_kind(kind: str) -> str:
    """What the values are, of populations with clusters or looks or labels too."""
    return "binary" if kind in ("clustered", "looks", "labelled") else kind


def written(kind: str, size: float) -> str:
    """A difference as rules and statements write it."""
    return f"{100 * size:g} pp" if own_kind(kind) == "binary" else f"{size:g}"


def fits(name: str, kind: str) -> bool:
    """True for a test that can judge such an endpoint."""
    plan = registry.find(name).plan
    if plan is None or plan.arms == 1 or (plan.takes == "runs") != (kind == "runs"):
        return False
    if plan.labels:
        return kind == "labelled"
    if kind == "looks" or name == "sequential":
        return kind == "looks" and name == "sequential"
    if kind == "clustered":
        return plan.clusters != "never"
    if plan.clusters == "required" or (plan.positive and kind != "amounts"):
        return False
    return ("binary" if kind in ("binary", "labelled") else "continuous") in plan.endpoints


@dataclass(frozen=True)
class Drawn:
    """A plan, as changes of the sample, and the numbers that it names."""

    kind: str
    claim: str
    better: int
    stated: float | None
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def sesoi(self) -> float:
        return SESOI[own_kind(self.kind)]

    def plan(self) -> Plan:
        return sample.plan(self.changes)


def one_of(rng: np.random.Generator, options: Any) -> Any:
    """One of these, each as likely."""
    options = tuple(options)
    return options[int(rng.integers(len(options)))]


def draw_test(rng: np.random.Generator, kind: str, name: str, label: str) -> dict[str, Any]:
    """A test with parameters of its page, an alternative, a margin and perhaps a reason for it."""
    parameters = {key: one_of(rng, values) for key, values in VARIED[name].items()}
    fields = registry.find(name).request.model_fields
    if name == "equivalence":
        parameters["method"] = "tango" if kind == "binary" and rng.random() < 0.7 else "t"
        if kind == "clustered":
            parameters.pop("method")
    sequence = parameters.get("method") == "confidence_sequence"
    if "alternative" in fields and not sequence:
        parameters["alternative"] = one_of(rng, ("two-sided", "greater", "less"))
    version = registry.find(name).version
    use: dict[str, Any] = {"id": label, "test": name, "version": version, "parameters": parameters}
    if "margin" in fields and (name != "sequential" or sequence) and rng.random() < 0.6:
        times = one_of(rng, (1, 0.5, 2, 10))
        unit = "proportion" if own_kind(kind) == "binary" else "score"
        parameters["margin"] = {"value": times * SESOI[own_kind(kind)], "unit": unit}
        if rng.random() < 0.3:
            use["margin_reason"] = REASON
    return use


def clause(rng: np.random.Generator, kind: str, use: dict[str, Any]) -> str:
    """A clause that shows something, on any side of any threshold."""
    declared_fields = registry.find(use["test"]).plan.shows  # type: ignore[union-attr]
    fields = {
        path: meaning
        for path, meaning in declared_fields.items()
        if "*" not in path and not isinstance(meaning, shows.Nothing)
    }
    path = one_of(rng, fields)
    meaning, name = fields[path], f"{use['id']}.{path}"
    size = written(kind, float(one_of(rng, (0, 0, 1, -1, 2, -2, 10, -10)) * SESOI[own_kind(kind)]))
    if path not in ("ci", "delta"):
        size = f"{one_of(rng, (0, 1)):g}"
    if path.startswith("ratio"):
        size = one_of(rng, ("1", "0.8", "1.2"))
    match meaning:
        case shows.PValue():
            return f"{name} {one_of(rng, ('<', '<='))} {one_of(rng, ('0.05', '0.2', '0.5'))}"
        case shows.Share():
            return f"{name} {one_of(rng, ('< 0.05', '> 0.95'))}"
        case shows.Covers():
            return f"{name}{one_of(rng, (' excludes', '.low >', '.low >=', '.high <', '.high <='))} {size}"
        case shows.Finding():
            return f"{name} is true"
        case _:
            return f"{name} {one_of(rng, ('>', '>=', '<', '<='))} {size}"


def draw(rng: np.random.Generator) -> Drawn:
    """Any plan; most do not lint."""
    kind, claim = one_of(rng, KINDS), one_of(rng, CLAIMS)
    better = one_of(rng, (1, 1, -1))
    sesoi = SESOI[own_kind(kind)]
    names = [name for name in VARIED if fits(name, kind)]
    tests = [draw_test(rng, kind, one_of(rng, names), f"t{at}") for at in range(int(rng.integers(1, 3)))]
    size = sesoi * one_of(rng, (1, 1, 0.5, 10))
    statement = one_of(rng, STATEMENTS[claim])
    stated = size if "{size}" in statement else None
    unit = "points" if own_kind(kind) != "binary" else "pp"
    number = 100 * size if unit == "pp" else size
    side = ">" if better > 0 else "<"
    parts = [clause(rng, kind, one_of(rng, tests)) for _ in range(int(rng.integers(1, 4)))]
    rule = parts[0]
    for part in parts[1:]:
        rule = f"({rule}) {one_of(rng, ('and', 'and', 'or'))} {part}"
    if rng.random() < 0.5:
        rule = f"({rule}) and delta {side} {written(kind, 0.0 if stated is None else better * stated)}"
    endpoint: dict[str, Any] = {
        "id": "accuracy",
        "role": "primary",
        "better": "higher" if better > 0 else "lower",
    }
    endpoint["kind"] = "binary" if own_kind(kind) == "binary" else "continuous"
    changes: dict[str, Any] = {
        "populations.0.n": N,
        "endpoints.0": endpoint,
        "sesoi": {
            "accuracy": {"value": sesoi, "unit": "proportion" if endpoint["kind"] == "binary" else "score"}
        },
        "hypotheses.0.claim": claim,
        "hypotheses.0.statement": statement.format(size=f"{number:g} {unit}"),
        "hypotheses.0.rule": rule,
        "tests": tests,
    }
    if kind == "amounts":
        endpoint["positive"] = True
    if kind == "runs":
        endpoint["replicates"] = 2
        if any(use["test"] == "fixed-items" for use in tests):
            endpoint |= {"estimand": "these_items", "bounds": {"low": -0.1, "high": 1.1}}
    if kind == "labelled":
        endpoint["judge"] = {"model": "j"}
        labels = {"n": LABELS, "seed": 1}
        changes["endpoints.1"] = {
            "id": "accuracy.audit", "kind": "binary", "role": "secondary", "labels": labels,
        }  # fmt: skip
        if rng.random() < 0.7:
            changes["hypotheses.0.about"] = "labels"
    if kind == "clustered":
        changes |= {
            "populations.0.independence": None,
            "populations.0.clusters": {"key": "c", "n": len(SIZES)},
        }
    if kind == "looks":
        changes |= {"populations.0.order_seed": 7, "missing": "fail", "stopping": {"kind": "anytime_valid"}}
        if any(each["parameters"]["method"] == "group_sequential" for each in tests):
            changes["stopping"] = {"kind": "group_sequential", "looks": 2}
            for each in tests:
                each["parameters"] = {
                    "method": "group_sequential",
                    "alternative": one_of(rng, ("two-sided", "greater")),
                }
    finding = [
        each["id"] for each in tests if "equivalent" in registry.find(each["test"]).analysis.model_fields
    ]
    if claim != "equivalence" and rng.random() < 0.5:
        if not finding and fits("equivalence", kind):
            tests.append(draw_test(rng, kind, "equivalence", "eq"))
            finding = ["eq"]
        if finding:
            changes["hypotheses.0.equivalence"] = finding[0]
    if kind in ("scores", "bounded") and rng.random() < 0.15:  # clauses on another endpoint
        changes["endpoints.1"] = {
            "id": "usd",
            "kind": "continuous",
            "role": "secondary",
            "positive": True,
            "better": "lower",
        }
        tests.append({"id": "cost", "test": "ratio-of-means", "version": 1, "endpoint": "usd"})
        changes["hypotheses.0.rule"] += one_of(
            rng, (" and cost.ratio.ci.high < 1", " or cost.ratio.ci.high < 1")
        )
    return Drawn(kind, claim, better, stated, changes)


def errors(plan: Plan) -> list[Finding]:
    """What blocks the lock, but for plans that can never pass: those are not supported by anything."""
    found = [*stopping_findings(plan), *parameter_findings(plan)]
    for setting in resolve(plan).settings:
        found += [*use_findings(plan, setting), *rule_findings(setting), *sequential_findings(plan, setting)]
        found += claim_findings(plan, setting)
    return [each for each in found if each.severity == "error"]


def lintable(drawn: Drawn) -> Drawn | None:
    """The plan if it lints, else as lint would mend it; None where neither goes."""
    plan = drawn.plan()
    if not errors(plan):
        return drawn
    (setting,) = resolve(plan).settings
    if setting.rule is None:
        return None
    for gap in ("bound", "opposite", "direction", "size"):
        better = mend(plan, setting, gap, setting.rule)
        if better is None or better.test is not None:
            continue
        changed = Drawn(
            drawn.kind, drawn.claim, drawn.better, drawn.stated,
            drawn.changes | {"hypotheses.0.rule": better.rule},
        )  # fmt: skip
        if not errors(changed.plan()):
            return changed
    return None


def worlds(rng: np.random.Generator, drawn: Drawn) -> Iterator[tuple[Floats, Floats]]:
    """Two arms, in worlds whose means, ranks and ends part: skewed both ways, zero-inflated, bounded, tied, plain."""
    sesoi, n = drawn.sesoi, N
    if own_kind(drawn.kind) == "binary":
        for lean in (0.02, 0.35, 0.5, 0.65, 0.98):
            differs = rng.random(n) < one_of(rng, (0.1, 0.5, 1.0))
            wins, base = rng.random(n) < lean, (rng.random(n) < 0.5).astype(np.float64)
            baseline = np.where(differs, np.where(wins, 0.0, 1.0), base)
            yield baseline, np.where(differs, 1 - baseline, base)
        return
    scale = 10 * sesoi
    centre = 100.0 if drawn.kind in ("scores", "amounts") else 0.5
    baseline = centre + scale * 0.1 * rng.normal(0, 1, n)
    few = np.where(np.arange(n) < 4, 1.0, 0.0)
    shapes = {
        "most go one way, a few far the other": np.where(few > 0, 6.0, -0.9) + 0.01 * rng.normal(0, 1, n),
        "skewed": rng.exponential(1, n) - 1,
        "zero-inflated": few * rng.normal(0, 4, n),
        "plain": rng.normal(0, 1, n),
        "tied": np.round(rng.normal(0, 1, n)),
        "point": np.zeros(n),
    }
    for shape in shapes.values():
        for sign in (1, -1):
            for shift in (0.0, 0.02, -0.02, 0.3, -0.3, 3.0, -3.0):
                candidate = baseline + sesoi * (sign * shape + shift * one_of(rng, (1, 1, 4)))
                if drawn.kind in ("bounded", "runs"):
                    candidate = np.clip(candidate, 0.0, 1.0)
                yield baseline, np.maximum(candidate, 1e-6) if drawn.kind == "amounts" else candidate


def judge(drawn: Drawn, baseline: Floats, candidate: Floats, rng: np.random.Generator) -> HypothesisVerdict:
    """The verdict on a world."""
    cells = {"C1": baseline, "C2": candidate}
    if drawn.kind == "runs":
        noise = rng.normal(0, 0.01, (len(baseline), 1))
        cells = {
            arm: np.hstack([values[:, None] + noise, values[:, None] - noise])
            for arm, values in cells.items()
        }
    held = {("one", arm, "accuracy"): sample.cell(values) for arm, values in cells.items()}
    if drawn.kind == "labelled":
        held |= people(rng, cells)
    elif "endpoints.1" in drawn.changes:
        cost = np.exp(rng.normal(0, 0.3, len(baseline)))
        held |= {("one", "C1", "usd"): sample.cell(cost), ("one", "C2", "usd"): sample.cell(0.3 * cost)}
    more: dict[str, Any] = {}
    if drawn.kind == "clustered":
        labels = [f"c{at}" for at, size in enumerate(SIZES) for _ in range(size)]
        more["manifests"] = {"one": Manifest.create([f"item {at}" for at in range(N)], labels)}
    return sample.verdict_of(drawn.changes, Outcomes(held), N, **more).hypotheses[0]


def people(rng: np.random.Generator, cells: dict[str, Floats]) -> dict[tuple[str, str, str], Cell]:
    """Labels of some items, by people who find what the judge finds, something else, or the opposite."""
    turned = one_of(rng, (0.0, 0.1, 0.5, 0.9, 1.0))
    asked = rng.permutation(N)[:LABELS]
    labelled = {}
    for arm, values in cells.items():
        said = np.full((N, 1), np.nan)
        statuses = np.full((N, 1), NOT_DRAWN, dtype=np.uint8)
        said[asked, 0] = np.where(rng.random(LABELS) < turned, 1 - values[asked], values[asked])
        statuses[asked] = OK
        labelled["one", arm, "accuracy.audit"] = Cell(said, statuses)
    return labelled


def claimed_delta(drawn: Drawn, verdict: HypothesisVerdict) -> float:
    """The observed difference of what the claim is about: the judge's, or as people's labels correct it."""
    if drawn.changes.get("hypotheses.0.about") != "labels":
        return float(verdict.delta or 0.0)
    named = {each["id"] for each in drawn.changes["tests"] if each["test"] == "prediction-powered"}
    corrected = [
        float(answer["analysis"]["delta"])  # type: ignore[index, call-overload, arg-type]
        for name, answer in verdict.analyses.items()
        if name in named and answer.get("analysis")
    ]
    return max(corrected, key=lambda value: drawn.better * value)


def margin_of(drawn: Drawn, outcome: str) -> float:
    """The number that an outcome is held to: of the statement, of the SESOI, or one for which the plan has a reason."""
    named = drawn.changes.get("hypotheses.0.equivalence") if outcome == "equivalent" else None
    fallback = outcome == "equivalent" and drawn.claim != "equivalence"
    own = [
        each["parameters"]["margin"]["value"]
        for each in drawn.changes["tests"]
        if "margin_reason" in each
        and "margin" in each.get("parameters", {})
        and (not fallback or each["id"] == named)
    ]
    stated = None if fallback else drawn.stated
    if drawn.claim == "minimum_effect" and not fallback:
        return max([min([drawn.sesoi, *own]), *([] if stated is None else [stated])])
    return min([max([drawn.sesoi, *own]), *([] if stated is None else [stated])])


def opposite(drawn: Drawn, verdict: HypothesisVerdict, delta: float) -> str | None:
    """How the data show the opposite of an outcome that was claimed; None where they do not."""
    near, margin = 1e-9, margin_of(drawn, verdict.outcome)
    both = verdict.outcome == "equivalent"
    # an equivalence test beside the rule speaks of the means, and its sentence says so: ranks are no opposite of that
    means_alone = both and drawn.claim != "equivalence"
    intervals = []
    for name, answer in verdict.analyses.items():
        plan_test = next(each for each in drawn.changes["tests"] if each["id"] == name)
        analysis = answer.get("analysis")
        ci = analysis.get("ci") if isinstance(analysis, dict) else None
        if means_alone and plan_test["test"] in ("wilcoxon", "mann-whitney", "quantile-difference"):
            continue
        about_people = drawn.changes.get("hypotheses.0.about") == "labels"
        if about_people and plan_test["test"] != "prediction-powered":
            continue  # what the judge says is no opposite of what people say
        if (
            isinstance(ci, dict)
            and "endpoint" not in plan_test
            and (name in drawn.changes["hypotheses.0.rule"])
        ):
            low = -np.inf if ci["low"] is None else float(ci["low"])  # type: ignore[arg-type]
            high = np.inf if ci["high"] is None else float(ci["high"])  # type: ignore[arg-type]
            intervals.append((name, low, high))
    if both:
        if abs(delta) >= margin - near:
            return f"the difference of {delta} reaches {margin}"
        return next((f"{name} lies beyond {margin}" for name, low, high in intervals
                     if low > margin + near or high < -margin - near), None)  # fmt: skip
    good = drawn.better * delta
    least = {
        "superiority": max(drawn.stated or 0.0, 0.0),
        "minimum_effect": margin,
        "non_inferiority": -margin,
    }
    limit = least[drawn.claim]
    if good < limit - near or (
        good <= limit + near and not (drawn.stated and drawn.claim != "non_inferiority")
    ):
        return f"the difference of {delta} misses {limit}"
    for name, low, high in intervals:
        if (high if drawn.better > 0 else -low) < min(
            limit, 0.0 if drawn.claim == "superiority" else limit
        ) - near:
            return f"the interval of {name} lies beyond {limit}"
    return None
