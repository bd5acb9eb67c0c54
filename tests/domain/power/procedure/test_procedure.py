"""A whole plan on simulated data: every data set gets the decision that the verdict gives."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.plans.items.unit_order import ranks
from service.domain.power.procedure.data import Block, Side, World
from service.domain.power.procedure.procedure import Procedure
from service.domain.rules.settings import resolve
from service.domain.verdicts.analyses import analyse
from service.domain.verdicts.hypotheses import judge_hypotheses
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.domain.verdicts.stopping import first, read, up_to_stop
from tests.domain.sample import cell, facts_of, manifests, plan
from tests.drawing import one_in

T = 24
ENOUGH = 12
"""Data sets of a case that are judged, where they tell something apart: more only where they do not."""
MCNEMAR = {"id": "m", "test": "mcnemar", "version": 1, "parameters": {"method": "exact"}}
TANGO = {
    "id": "e",
    "test": "equivalence",
    "version": 1,
    "parameters": {"margin": {"value": 12, "unit": "pp"}},
    "margin_reason": "few items",
}
FLIP = {"id": "f", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "sign_flip"}}
CR2 = {"id": "c", "test": "clustered-mcnemar", "version": 1, "parameters": {"method": "cr2_t"}}
BOOT = {"id": "b", "test": "paired-bootstrap", "version": 1, "parameters": {"alternative": "greater"}}
TANGO_2 = TANGO | {"parameters": {"margin": {"value": 6, "unit": "pp"}}}
CLUSTER_TOST = {
    "id": "x", "test": "equivalence", "version": 1,
    "parameters": {"method": "t", "margin": {"value": 12, "unit": "pp"}}, "margin_reason": "few items",
}  # fmt: skip
CLUSTER_BOOT = {
    "id": "b", "test": "cluster-bootstrap", "version": 1, "parameters": {"estimand": "cluster_weighted"}
}  # fmt: skip
LOWER = [{"id": "accuracy", "kind": "binary", "role": "primary", "better": "lower"}]
NEAR = (0.02, 0.04, -0.02)
BOUNDED = {"low": -20, "high": 20}


def hypotheses(rule, count=3, **more):
    """One per population, so that their data are independent."""
    return [
        {
            "id": f"H{k}", "claim": "superiority", "statement": "better", "population": f"p{k}", "baseline": "C1",
            "candidate": "C2", "endpoint": "accuracy", "rule": rule, **more,
        }
        for k in range(count)
    ]  # fmt: skip


def many(rule, tests, n=120, count=3, clusters=None, policy="holm", **more):
    top = {key: more.pop(key) for key in ("missing", "stopping", "endpoints", "truths") if key in more}
    populations = [
        {"id": f"p{k}", "dataset": "D", "n": n, "order_seed": 5 + k}
        | ({"independence": "yes"} if clusters is None else {"clusters": {"key": "c", "n": clusters}})
        for k in range(count)
    ]
    top = {"missing": "fail"} | top
    return {
        "populations": populations,
        "hypotheses": hypotheses(rule, count, **more),
        "tests": tests,
        "multiplicity": {"policy": policy, "family": [f"H{k}" for k in range(count)]},
        **top,
    }


def equivalence_of_the_worst(rule, tests=(TANGO,), n=150, **changes):
    return many(rule, [*tests], n=n, claim="equivalence", missing="worst_case", truths=NEAR, **changes)


SCORES = {
    "endpoints": [{"id": "accuracy", "kind": "continuous", "role": "primary", "bounds": BOUNDED}],
    "sesoi": {"accuracy": {"value": 0.4, "unit": "score"}},
}


def looks(method, **parameters):
    return {"id": "s", "test": "sequential", "version": 1, "parameters": {"method": method, **parameters}}


GROUPS = {"kind": "group_sequential", "looks": 3, "spending": "pocock"}
ANYTIME = {"kind": "anytime_valid"}
CASES = {
    **{
        f"{policy} of three": many("m.p_value < 0.05 and delta >= 2 pp", [MCNEMAR], policy=policy)
        for policy in ("none", "bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence")
    },
    "two clauses on p": many("m.p_value < 0.05 and b.p_value < 0.03", [MCNEMAR, BOOT]),
    "clusters": many("f.p_value < 0.2 and c.ci excludes 0 and delta > 0", [FLIP, CR2], clusters=9),
    "a fallback": many("m.p_value < 0.05", [MCNEMAR, TANGO], policy="none", equivalence="e"),
    "a wider fallback": many(
        "m.p_value < 0.05", [MCNEMAR, TANGO | {"margin_reason": None}], policy="none", equivalence="e"
    ),
    "pairs left out": many("m.p_value < 0.05 and delta > 0", [MCNEMAR], missing="exclude_pair"),
    "clusters with pairs left out": many("c.p_value < 0.1", [CR2], clusters=8, missing="exclude_pair"),
    "the worst case": many("m.p_value < 0.2 and delta > 0", [MCNEMAR], missing="worst_case"),
    "the worst case of clusters": many(
        "c.p_value < 0.5 and delta < 14 pp", [CR2], clusters=8, missing="worst_case"
    ),
    "an equivalence of the worst case": equivalence_of_the_worst(
        "e.equivalent is true and delta within [-11 pp, 11 pp]", policy="none"
    ),
    "an equivalence of the worst case by its p": equivalence_of_the_worst(
        "e.p_value < 0.05 and delta < 9 pp", policy="holm"
    ),
    "an equivalence of the worst case of clusters": equivalence_of_the_worst(
        "x.equivalent is true", [CLUSTER_TOST], n=160, clusters=16, policy="none"
    ),
    "a claim of equivalence with a fallback of its own": equivalence_of_the_worst(
        "e.p_value < 0.02 and delta within [-3 pp, 3 pp]", policy="bonferroni", equivalence="e"
    ),
    **{
        f"a fallback of the worst case under {policy}": many(
            "m.p_value < 0.05 and delta > 0",
            [MCNEMAR, TANGO],
            n=180,
            policy=policy,
            equivalence="e",
            missing="worst_case",
            truths=(0.12, 0.02, 0.0),
        )
        for policy in ("none", "bonferroni", "holm", "hochberg", "bh", "by", "fixed_sequence")
    },
    **{
        f"a fallback beside a minimum effect under {policy}": many(
            "e.minimum_effect is true and m.p_value < 0.03 and delta > 0",
            [MCNEMAR, TANGO_2],
            n=200,
            count=count,
            policy=policy,
            claim="minimum_effect",
            equivalence="e",
            truths=(0.16, 0.0, 0.1),
        )
        for policy, count in (("bonferroni", 1), ("holm", 2), ("hommel", 2))
    },
    **{
        f"lower is better, {policy}": many(
            "m.p_value < 0.05 and delta < 0",
            [MCNEMAR, TANGO],
            policy=policy,
            equivalence="e",
            missing="worst_case",
            truths=(-0.12, -0.04, 0.1),
            endpoints=LOWER,
        )
        for policy in ("none", "holm")
    },
    "either direction": many("m.p_value < 0.2", [MCNEMAR], truths=(0.1, -0.1, 0.02), policy="none"),
    "either direction of clusters that weigh alike": many(
        "b.intervals.percentile excludes 0",
        [CLUSTER_BOOT],
        clusters=12,
        truths=(0.1, -0.1, 0.02),
        policy="none",
    ),
    "a size that the statement names": many(
        "m.p_value < 0.5", [MCNEMAR], statement="better by at least 5 pp", policy="none"
    ),
    "a claim that one of two ways shows": many(
        "m.p_value < 0.1 or e.noninferior is true",
        [MCNEMAR, TANGO],
        claim="non_inferiority",
        policy="none",
        truths=(0.1, -0.1, 0.02),
        n=60,
    ),
    "no difference found": many("m.p_value > 0.05", [MCNEMAR], claim="equivalence", policy="none"),
    "scores": many(
        "t.p_value < 0.05 and delta > 0",
        [{"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}],
        n=40,
    )
    | SCORES,
    "looks": many("s.p_value < 0.05 and delta > 0", [looks("group_sequential")], stopping=GROUPS),
    "looks without a family": many(
        "s.ci excludes 0 and s.delta > 0", [looks("group_sequential")], stopping=GROUPS, policy="none"
    ),
    "one-sided looks": many(
        "s.p_value < 0.1",
        [looks("group_sequential", alternative="greater", alpha=0.1)],
        stopping=GROUPS,
        count=1,
    ),
    "looks at clusters": many(
        "s.p_value < 0.05", [looks("group_sequential")], n=150, clusters=45, stopping=GROUPS
    ),
    "looks at filled items": many(
        "s.p_value < 0.05 and delta > 0", [looks("group_sequential")], stopping=GROUPS, missing="worst_case"
    ),
    "looks at scores": many("s.p_value < 0.05", [looks("group_sequential")], n=60, stopping=GROUPS) | SCORES,
    "a coin": many("s.p_value < 0.05 and delta > 0", [looks("e_process")], stopping=ANYTIME),
    "a bet": many("s.p_value < 0.05", [looks("e_process")], n=150, clusters=50, stopping=ANYTIME),
    "a sequence": many(
        "s.ci excludes 0 and delta > 0",
        [looks("confidence_sequence")],
        n=200,
        stopping=ANYTIME,
        policy="none",
        equivalence="s",
    ),
}
TRUTHS = (0.12, 0.25, 0.02)


def drawn(changed, seed, truths):
    """Item-level results of every population by a generator of the test's own: (T, n) per arm, NaN missing."""
    rng = np.random.default_rng(seed)
    rate = 0.0 if changed.missing in ("fail", None) else 0.04
    found = {}
    for population, truth in zip(changed.populations, truths, strict=False):
        shape = (T, population.n)
        if changed.endpoints[0].kind == "continuous":
            before = rng.normal(0, 1, shape)
            after = before + rng.normal(4 * truth, 1, shape)
        else:
            uniform = rng.random(shape)
            before = (uniform < 0.5).astype(float)
            lost, won = 0.1 + 2 * max(-truth, 0), 0.1 + 2 * max(truth, 0)
            flip = rng.random(shape) < np.where(before == 1, lost, won)
            after = np.where(flip, 1 - before, before)
        for arm in (before, after):
            arm[rng.random(shape) < rate] = np.nan
        if changed.missing == "exclude_pair":  # the simulation's data sets share what is missing
            before[:, np.isnan(before[0])] = np.nan
            after[:, np.isnan(after[0])] = np.nan
            gone = np.isnan(before[0]) | np.isnan(after[0])
            before[:, ~gone] = np.nan_to_num(before[:, ~gone])
            after[:, ~gone] = np.nan_to_num(after[:, ~gone])
        found[population.id] = before, after
    return found


def outcomes_of(data, index):
    cells = {}
    for name, (before, after) in data.items():
        cells[name, "C1", "accuracy"] = cell(before[index])
        cells[name, "C2", "accuracy"] = cell(after[index])
    return Outcomes(cells)


def block_of(group, population, manifest, before, after, policy, ends):
    """The same data as the simulation holds them: sums per unit in the locked order."""
    order = np.argsort(ranks(population, manifest), kind="stable")
    before, after = before[:, order], after[:, order]
    edges = np.concatenate([[0], np.cumsum(group.sizes)])
    kept = np.ones(before.shape[1], dtype=bool)
    if policy == "exclude_pair":
        kept = ~(np.isnan(before[0]) | np.isnan(after[0]))
    low, high = ends

    def side(best, worst):
        d = np.where(np.isnan(after), worst, after) - np.where(np.isnan(before), best, before)
        d = np.where(kept, d, 0.0)
        sums = np.add.reduceat(d, edges[:-1], axis=1)
        won = tuple(np.add.reduceat((d == s).astype(np.int64), edges[:-1], axis=1) for s in (1, -1))
        return Side(sums, won if group.binary else None)

    sizes = np.add.reduceat(kept.astype(np.int64), edges[:-1])
    down, up = side(high, low), side(low, high)
    return Block(sizes, down, down if policy != "worst_case" else up, np.arange(len(sizes)))


@pytest.mark.parametrize("name", one_in(3, CASES))
def test_every_data_set_gets_the_verdicts_decision(name):
    case = dict(CASES[name])
    truths = case.pop("truths", TRUTHS)
    changed = plan(case)
    items = manifests(changed)
    facts = {key: each.facts() for key, each in items.items()}
    procedure = Procedure.of(resolve(changed), facts, [each.id for each in changed.hypotheses])
    data = drawn(changed, 7, truths)
    ends = (BOUNDED["low"], BOUNDED["high"]) if changed.endpoints[0].kind == "continuous" else (0.0, 1.0)
    blocks = [
        block_of(
            group, group.settings[0].population, items[group.settings[0].population.id],
            *data[group.settings[0].population.id], changed.missing, ends,
        )
        for group in procedure.groups
    ]  # fmt: skip
    found = procedure.judge(blocks)
    assert found is not None
    seen = set()
    for index in range(T if changed.stopping.kind == "fixed_n" else 8):
        if index >= (ENOUGH if changed.stopping.kind == "fixed_n" else 5) and len(seen) > 1:
            break
        counted = stop(Rows(resolve(changed), items, outcomes_of(data, index)))
        for each in judge_hypotheses(counted, analyse(counted)):
            decided = found[each.id]
            claimed = "equivalent" if each.claim == "equivalence" else "supported"
            simulated = (
                claimed if decided.held[index]
                else "inconclusive" if decided.unknown[index]
                else "equivalent" if decided.equivalent[index] else "not_supported"
            )  # fmt: skip
            assert simulated == each.outcome, (index, each.id, each.clauses)
            if changed.stopping.kind != "fixed_n":
                assert decided.items[index] == each.n, (index, each.id)
            seen.add(each.outcome)
    assert len(seen) > 1, "the data told nothing apart"


def stop(rows):
    """As the service ends a collection; a plan that may be read at any time is read after every unit."""
    if rows.plan.stopping.kind != "anytime_valid":
        return up_to_stop(rows)[0]
    populations = rows.plan.populations
    units = {each.id: each.n if each.clusters is None else each.clusters.n for each in populations}
    most = max(units.values())
    low, high = 0, most  # reading on can only add to what has ended
    while high - low > 1:
        middle = (low + high) // 2
        now = {name: -(-middle * many // most) for name, many in units.items()}
        low, high = (low, middle) if read(rows, now).stop else (middle, high)
    now = {name: -(-high * many // most) for name, many in units.items()}
    return first(rows, now)


def test_the_same_world_has_the_same_decisions():
    changed = plan(CASES["holm of three"])
    facts = facts_of(changed)
    worlds = {f"H{k}": World(0.1, 0.2) for k in range(3)}
    one, again = (
        Procedure.of(resolve(changed), facts, ["H0", "H1", "H2"]).run(worlds, 200)["H0"].held
        for _ in range(2)
    )
    assert np.array_equal(one, again)
