"""Promised and realised power of whole plans: `python -m tests.simulation.whole_plans [--runs N] [PLAN ...]`.

Promised is what lint says under the plan's assumptions. Realised: results are drawn item by item by a generator
of this module's own, taken up to where the stopping rule ends them, analysed and judged as the service does.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.power.answers.records import PowerAt
from service.domain.power.rule_power import rule_powers
from service.domain.rules.settings import resolve
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.hypotheses import judge_hypotheses
from service.domain.verdicts.outcomes import MISSING, OK, Cell, Outcomes, Rows
from service.domain.verdicts.stopping import first, read, up_to_stop
from tests.simulation.record import ONE_ARM, PAGE, split_page

RUNS, CHUNK, SEED = 800, 100, 20_270_401
NOW = datetime(2027, 1, 1, tzinfo=UTC)
HEADING = "## Power of whole plans"

EXACT = {"id": "m", "test": "mcnemar", "version": 1, "parameters": {"method": "exact"}}
FLIPS = {"id": "f", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
CR2 = {"id": "c", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "cr2_t"}}
BOOT = {"id": "b", "test": "cluster-bootstrap", "version": 1}
TANGO = {
    "id": "e",
    "test": "equivalence",
    "version": 1,
    "parameters": {"margin": {"value": 3, "unit": "pp"}},
    "margin_reason": "as in the pilot",
}
T_TEST = {"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}
ITEM_RULE = "delta >= 2 pp and m.p_value < 0.05"


@dataclass(frozen=True)
class Case:
    """A plan, and what is true of it. `truths` are those of its hypotheses, a proportion or score units."""

    name: str
    text: str
    n: int
    truths: tuple[float, ...]
    rule: str
    tests: tuple[Mapping[str, Any], ...]
    scale: float = 0.1
    clusters: int | None = None
    unequal: bool = False
    icc: float = 0.0
    missing: float = 0.0
    policy: str = "exclude_pair"
    family: str = "none"
    shared: bool = False
    """All hypotheses speak of one population's data."""
    stopping: Mapping[str, Any] = field(default_factory=lambda: {"kind": "fixed_n"})
    equivalence: str | None = None
    scores: bool = False
    outcome: str = "supported"


def _looks(method: str) -> tuple[dict[str, Any]]:
    return ({"id": "s", "test": "sequential", "version": 1, "parameters": {"method": method}},)


def _clustered(g: int, n: int, truth: float, icc: float, **more: Any) -> Case:
    rule = "delta >= 2 pp and c.p_value < 0.05" if g < 10 else "delta >= 2 pp and f.p_value < 0.05"
    return Case(
        f"{g} clusters, ICC {icc:g}{more.pop('suffix', '')}",
        f"{n} items in {g} clusters{' of 2 to 60' if more.get('unequal') else ''}, "
        f"{'CR2 t' if g < 10 else more.pop('test', 'sign flip')}",
        n, (truth,), more.pop("rule", rule), more.pop("tests", (CR2,) if g < 10 else (FLIPS,)), clusters=g, icc=icc,
        **more,
    )  # fmt: skip


TWO = {"kind": "group_sequential", "looks": 2, "spending": "obrien_fleming"}
POCOCK = {"kind": "group_sequential", "looks": 2, "spending": "pocock"}
SEQUENTIAL = {"tests": _looks("group_sequential"), "rule": "s.p_value < 0.05 and delta > 0", "policy": "fail"}
CASES = {
    each.name: each
    for each in (
        Case("200 items", "200 items, McNemar", 200, (0.07,), ITEM_RULE, (EXACT,)),
        Case("500 items", "500 items, McNemar", 500, (0.04,), ITEM_RULE, (EXACT,)),
        Case("1500 items", "1,500 items, McNemar", 1500, (0.025,), ITEM_RULE, (EXACT,), 0.15),
        _clustered(5, 200, 0.1, 0.05, scale=0.12),
        _clustered(5, 1000, 0.08, 0.2),
        _clustered(20, 400, 0.06, 0.05),
        _clustered(20, 400, 0.06, 0.2),
        _clustered(20, 500, 0.07, 0.2, unequal=True, suffix=", unequal"),
        _clustered(
            20,
            400,
            0.06,
            0.05,
            suffix=", bootstrap",
            tests=(BOOT,),
            test="cluster bootstrap",
            rule="delta >= 2 pp and b.ci excludes 0",
        ),
        _clustered(100, 1500, 0.03, 0.05),
        _clustered(100, 1500, 0.03, 0.2),
        Case(
            "Holm, one of three",
            "3 x 500 items, one true",
            500,
            (0.04, 0.0, 0.0),
            ITEM_RULE,
            (EXACT,),
            family="holm",
        ),
        Case(
            "Holm, all three", "3 x 500 items, all true", 500, (0.04,) * 3, ITEM_RULE, (EXACT,), family="holm"
        ),
        Case(
            "Hommel, all three",
            "3 x 500 items, all true",
            500,
            (0.04,) * 3,
            ITEM_RULE,
            (EXACT,),
            family="hommel",
        ),
        Case(
            "BH, two of three",
            "3 x 500 items, two true",
            500,
            (0.04, 0.04, 0.0),
            ITEM_RULE,
            (EXACT,),
            family="bh",
        ),
        Case(
            "Holm, the same data",
            "500 items, two hypotheses",
            500,
            (0.04,) * 2,
            ITEM_RULE,
            (EXACT,),
            family="holm",
            shared=True,
        ),
        Case(
            "Holm of clusters",
            "2 x 400 items in 20 clusters",
            400,
            (0.07, 0.0),
            "delta >= 2 pp and f.p_value < 0.05",
            (FLIPS,),
            clusters=20,
            icc=0.05,
            family="holm",
        ),
        Case("two looks", "500 items, O'Brien-Fleming", 500, (0.04,), stopping=TWO, **SEQUENTIAL),
        Case("two looks, Pocock", "500 items, Pocock", 500, (0.04,), stopping=POCOCK, **SEQUENTIAL),
        Case(
            "two looks at clusters",
            "1,500 items in 100 clusters, O'Brien-Fleming",
            1500,
            (0.03,),
            clusters=100,
            icc=0.05,
            stopping=TWO,
            **SEQUENTIAL,
        ),
        Case(
            "two looks, Holm",
            "2 x 500 items, O'Brien-Fleming, one true",
            500,
            (0.04, 0.0),
            stopping=TWO,
            family="holm",
            **SEQUENTIAL,
        ),
        Case(
            "an e-process",
            "300 items, read after every one",
            300,
            (0.06,),
            "s.p_value < 0.05 and delta > 0",
            _looks("e_process"),
            policy="fail",
            stopping={"kind": "anytime_valid"},
        ),
        Case(
            "worst case",
            "500 items, 2 % of each arm's results missing",
            500,
            (0.05,),
            ITEM_RULE,
            (EXACT,),
            missing=0.02,
            policy="worst_case",
        ),
        Case(
            "worst case of clusters",
            "400 items in 20 clusters, 2 % missing",
            400,
            (0.09,),
            "delta >= 2 pp and f.p_value < 0.05",
            (FLIPS,),
            clusters=20,
            icc=0.05,
            missing=0.02,
            policy="worst_case",
        ),
        Case("pairs left out", "500 items, 5 % missing", 500, (0.04,), ITEM_RULE, (EXACT,), missing=0.05),
        Case(
            "fail",
            "500 items, 0.05 % missing",
            500,
            (0.045,),
            ITEM_RULE,
            (EXACT,),
            missing=0.0005,
            policy="fail",
        ),
        Case(
            "equivalent",
            "800 items, fall-back within 3 pp",
            800,
            (0.005,),
            ITEM_RULE,
            (EXACT, TANGO),
            equivalence="e",
            outcome="equivalent",
        ),
        Case(
            "scores",
            "200 scores, paired t, SD 10 times the SESOI",
            200,
            (4.0,),
            "t.p_value < 0.05 and delta > 0",
            (T_TEST,),
            scale=20.0,
            scores=True,
        ),
        Case(
            "more scores",
            "1,000 scores, paired t, SD 20 times the SESOI",
            1000,
            (4.0,),
            "t.p_value < 0.05 and delta > 0",
            (T_TEST,),
            scale=40.0,
            scores=True,
        ),
    )
}


@cache
def plan_of(name: str) -> Plan:
    """The plan with its assumptions."""
    case = CASES[name]
    count = 1 if case.shared else len(case.truths)
    unit = "score" if case.scores else "proportion"
    effects = {f"H{k}": {"effect": {"value": truth, "unit": unit}} for k, truth in enumerate(case.truths)}
    assumed: dict[str, Any] = {"sd" if case.scores else "discordance": case.scale, "hypotheses": effects}
    assumed |= {"icc": case.icc} if case.clusters else {}
    assumed |= {"missing": case.missing} if case.missing else {}
    return Plan.from_dict(
        {
            "title": case.name,
            "populations": [
                {"id": f"p{k}", "dataset": "D", "n": case.n, "order_seed": SEED + k}
                | ({"clusters": {"key": "c", "n": case.clusters}} if case.clusters else {"independence": "yes"})
                for k in range(count)
            ],
            "hypotheses": [
                {
                    "id": f"H{k}", "claim": "superiority", "statement": "The candidate is better.",
                    "population": "p0" if case.shared else f"p{k}", "baseline": "A", "candidate": "B", "endpoint": "y",
                    "rule": case.rule,
                } | ({"equivalence": case.equivalence} if case.equivalence else {})
                for k in range(len(case.truths))
            ],
            "endpoints": [{"id": "y", "kind": "continuous" if case.scores else "binary", "role": "primary"}],
            "tests": [dict(each) for each in case.tests],
            "sesoi": {"y": {"value": 2, "unit": "score" if case.scores else "pp"}},
            "thresholds": [], "stopping": dict(case.stopping), "missing": case.policy,
            "multiplicity": {"policy": case.family, "family": [f"H{k}" for k in range(len(case.truths))]},
            "assumptions": assumed,
        }
    )  # fmt: skip


@cache
def manifests_of(name: str) -> dict[str, Manifest]:
    """Items in clusters of equal size, or of sizes that grow evenly."""
    case, found = CASES[name], {}
    for population in plan_of(name).populations or ():
        labels = None
        if case.clusters:
            weights = np.linspace(0.08, 1.92, case.clusters) if case.unequal else np.ones(case.clusters)
            edges = np.rint(np.cumsum(weights) / weights.sum() * case.n).astype(int)
            labels = [f"c{int(np.searchsorted(edges, at, side='right'))}" for at in range(case.n)]
        found[population.id] = Manifest.create([f"i{at}" for at in range(case.n)], labels)
    return found


def promised(name: str) -> PowerAt:
    """What lint says of the first hypothesis."""
    facts = {key: each.facts() for key, each in manifests_of(name).items()}
    found = rule_powers(plan_of(name), facts)[0].reference
    assert found is not None
    return found


def drawn(case: Case, truth: float, manifest: Manifest, rng: np.random.Generator) -> tuple[Cell, Cell]:
    """Results of both arms, item by item."""
    labels = manifest.clusters or tuple(str(at) for at in range(manifest.n))
    codes = np.unique(labels, return_inverse=True)[1]
    if case.scores:
        before = rng.normal(50, 10, manifest.n)
        after = before + rng.normal(truth, case.scale, manifest.n)
    else:
        p = np.array([(case.scale + truth) / 2, (case.scale - truth) / 2, 1 - case.scale])
        own = np.tile(p, (int(codes.max()) + 1, 1))
        if case.icc:
            own = rng.dirichlet(p * (1 - case.icc) / case.icc, len(own))
        uniform = rng.random(manifest.n)
        edges = np.cumsum(own, axis=1)[codes]
        state = (uniform[:, None] > edges[:, :2]).sum(axis=1)
        right = rng.random(manifest.n) < 0.6
        before = np.where(state == 0, 0.0, np.where(state == 1, 1.0, right))
        after = np.where(state == 0, 1.0, np.where(state == 1, 0.0, right))
    return _cell(before, case, rng), _cell(after, case, rng)


def _cell(values: NDArray[np.float64], case: Case, rng: np.random.Generator) -> Cell:
    gone = rng.random(len(values)) < case.missing
    statuses = np.where(gone, MISSING, OK).astype(np.uint8)
    return Cell(np.where(gone, np.nan, values)[:, None], statuses[:, None])


def outcome(name: str, run: int) -> tuple[str, int]:
    """The outcome of the first hypothesis, and the items it rests on."""
    case, plan, manifests = CASES[name], plan_of(name), manifests_of(name)
    rng = np.random.default_rng([SEED, list(CASES).index(name), run])
    cells = {}
    for k, population in enumerate(plan.populations or ()):
        pair = drawn(case, case.truths[k], manifests[population.id], rng)
        cells |= {(population.id, arm, "y"): cell for arm, cell in zip("AB", pair, strict=True)}
    counted = _up_to_stop(Rows(resolve(plan), manifests, Outcomes(cells)))
    first, *_others = judge_hypotheses(counted, analyse(counted))
    return first.outcome, first.n


def _up_to_stop(rows: Rows) -> Rows:
    """Where the plan ends; one that is valid at any time is read after every unit."""
    if rows.plan.stopping is None or rows.plan.stopping.kind != "anytime_valid":
        return up_to_stop(rows)[0]
    low, high = 0, rows.manifests["p0"].n
    while high - low > 1:  # an e-process that has ended stays so
        middle = (low + high) // 2
        low, high = (low, middle) if read(rows, {"p0": middle}).stop else (middle, high)
    return first(rows, {"p0": high})


def count(job: tuple[str, int, int]) -> tuple[str, int, int]:
    """How many of some runs have the outcome that the row is about, and their items."""
    name, start, stop = job
    found = [outcome(name, run) for run in range(start, stop)]
    return name, sum(each == CASES[name].outcome for each, _ in found), sum(n for _, n in found)


def chance(at: PowerAt, case: Case) -> float:
    """What is promised of the outcome of a row."""
    found = at.power if case.outcome == "supported" else at.equivalent
    assert found is not None
    return found


def row(name: str, at: PowerAt, hits: int, items: int, runs: int) -> str:
    """A line of the table."""
    case = CASES[name]
    rate = hits / runs
    error = math.sqrt(rate * (1 - rate) / runs)
    truths = ", ".join(f"{each:g}" if case.scores else f"{100 * each:g} pp" for each in case.truths)
    spread = f"SD {case.scale:g}" if case.scores else f"{100 * case.scale:g} %"
    told = chance(at, case)
    own = "exact" if at.standard_error is None else f"± {at.standard_error:.3f}"
    ends = "" if at.expected_n is None else f"{at.expected_n:.0f} / {items / runs:.0f}"
    return (
        f"| {name} | {case.text} | {truths} | {spread} | {case.icc:g} | {told:.3f} ({own}) | "
        f"{rate:.3f} (± {error:.3f}) | {runs} | {told - rate:+.3f} | {ends} |"
    )


def section(rows: Mapping[str, str]) -> str:
    """The part of the page."""
    lines = [
        f"{HEADING}\n",
        "<!-- Made by `python -m tests.simulation.whole_plans`. -->\n",
        "Promised: the chance that lint tells for the first hypothesis under the plan's assumptions, with its standard "
        "error where it is simulated. Realised: the share of plans whose results were drawn item by item by "
        "another generator, taken up to where the stopping rule ends them, and analysed and judged as the service "
        "does. Of a sequential plan the items at the end follow, promised and realised, on average.\n",
        "| plan | data | true differences | discordant | ICC | promised | realised | plans | difference | items |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(rows[name] for name in CASES if name in rows),
    ]
    return "\n".join(lines) + "\n"


def recorded() -> Iterator[tuple[str, str, float, float, float]]:
    """Rows of the page: name, line, promised, realised and the standard error of that."""
    for line in split_page(PAGE.read_text("utf-8"))[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if cells[0] in CASES:
            realised, error = cells[6].split(" (± ")
            yield cells[0], line, float(cells[5].split()[0]), float(realised), float(error.rstrip(")"))


def main() -> None:
    """Write the section; with plans named, the other rows stay."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.whole_plans", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("plans", nargs="*", metavar="PLAN", help=f"of {', '.join(CASES)}")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        for name in options.plans or list(CASES):
            starts = range(0, options.runs, CHUNK)
            found = list(pool.map(count, [(name, at, min(at + CHUNK, options.runs)) for at in starts]))
            hits, items = (sum(each[part] for each in found) for part in (1, 2))
            rows = {known: line for known, line, *_ in recorded()}
            rows[name] = row(name, promised(name), hits, items, options.runs)
            before, plans = split_page(PAGE.read_text("utf-8"))
            _, heading, last = plans.partition(ONE_ARM)
            PAGE.write_text(f"{before}\n{section(rows)}" + (f"\n{heading}{last}" if heading else ""), "utf-8")


if __name__ == "__main__":
    main()
