"""All tasks of a suite at once: the largest |t| under signs that go over whole clusters, and who lost, step by step.

A cluster that spans tasks keeps one sign in all of them, so the dependence of the tasks is kept. What is flipped are
the residuals of the jackknife, and every t is studentized anew and brought to the scale of the normal law by the
degrees of freedom of its task (`max_t`, `partial_arms`). Where no cluster spans tasks these are independent, and the
law of the largest is known (Sidak 1967, JASA 62:626). Bonferroni's bound holds whatever the dependence: what is drawn
cannot be beyond it but by chance, or for want of patterns.

Source: Romano & Wolf (2005), JASA 100:94 (steps).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from service.kernels.numeric.streams import block_count, generator
from service.kernels.numeric.t_distribution import to_normal
from service.kernels.randomization.max_t import FLAT, LISTED_UP_TO, signed_sums, studentize
from service.kernels.randomization.sign_flip import sign_patterns
from service.kernels.suites.design import Design

Floats = NDArray[np.float64]

MOST_CELLS = 5_000_000
"""Clusters times tasks up to which signs are drawn."""


def seconds(design: Design, draws: int) -> float:
    """Return what the signs take; 0 where none are drawn."""
    if not is_drawn(design):
        return 0.0
    units, tasks = design.n_units, design.n_tasks
    many = 2**units if units <= LISTED_UP_TO else draws
    return 0.003 + many * (1e-9 * units + 1.3e-10 * units * 2 * tasks + 1e-7 * tasks)


def is_drawn(design: Design) -> bool:
    """Tell whether the joint law is one of signs: clusters span tasks, and there are not too many of both."""
    return design.n_tasks > 1 and design.spanning > 0 and design.n_units * design.n_tasks <= MOST_CELLS


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint law of the tasks' t on the scale of the normal law, under no difference from what each one has.

    `signed` (replicates, T): by signs; None where tasks are independent, or taken by Bonferroni (`independent` False).
    """

    n_tasks: int
    signed: Floats | None
    independent: bool

    def critical(self, alpha: float) -> float:
        """Critical value of the largest of all tasks, with which simultaneous intervals at 1 - alpha are made."""
        t = self.n_tasks
        bonferroni = -float(special.ndtri(alpha / t / 2))
        if self.independent:
            # Sidak: 1 - (1 - alpha)^(1 / t) for each, by logarithms, which keep the digits of a small alpha.
            return -float(special.ndtri(-math.expm1(math.log1p(-alpha) / t) / 2))
        if self.signed is None:
            return bonferroni
        greatest = np.sort(np.abs(self.signed).max(axis=1))
        # As many replicates may exceed it as leave (1 + those at least as large) / (1 + all) below alpha; too few
        # patterns allow none, and Bonferroni's bound stands.
        allowed = math.ceil(alpha * (1 + len(greatest)) - 1e-9) - 2
        return bonferroni if allowed < 0 else min(bonferroni, float(greatest[-1 - allowed]))

    def adjust(self, p_values: Floats) -> Floats:
        """Return the one-sided p of every task over all of them, step by step down from the least. Shape (T,)."""
        order = np.argsort(p_values, kind="stable")
        left = np.arange(self.n_tasks, 0, -1)
        ordered = p_values[order]
        stepped = np.minimum(left * ordered, 1.0)
        if self.independent:
            stepped = -np.expm1(left * np.log1p(-np.minimum(ordered, 1 - 1e-16)))
        elif self.signed is not None:
            stepped = np.minimum(stepped, _step_down(self.signed, order, ordered))
        adjusted = np.empty(self.n_tasks)
        adjusted[order] = np.maximum.accumulate(np.clip(stepped, ordered, 1.0))
        return adjusted


def joint(design: Design, column: Floats, seed: int, draws: int) -> Joint:
    """The joint law of the tasks' means of a column (n,). O(draws x clusters x tasks) where clusters span tasks."""
    if not is_drawn(design):
        return Joint(design.n_tasks, None, design.spanning == 0)
    g, t = design.n_units, design.n_tasks
    place = design.cell_unit, design.cell_task
    residuals, sizes, shares = (np.zeros((g, t)) for _ in range(3))
    residuals[place], sizes[place], shares[place] = (
        design.residuals(column),
        design.cell_size,
        design.leverage,
    )
    alone = design.units_of_task < 2  # one cluster is all of the task: nothing is known of its spread
    pulled = np.where(alone, 0.0, residuals / np.where(alone | (shares >= 1), 1.0, 1 - shares))
    values = np.concatenate([pulled, pulled * sizes], axis=1)
    if g <= LISTED_UP_TO:
        signed = sign_patterns(g) @ values
    else:
        blocks = range(block_count(draws))
        signed = np.concatenate([signed_sums(generator(seed, block), values, None) for block in blocks])[
            :draws
        ]
    shift, cross = signed[:, :t], signed[:, t:]
    squares = (pulled**2).sum(axis=0)
    scale = np.bincount(design.tasks, weights=column**2, minlength=t)
    squares = np.where(squares <= FLAT * scale, 0.0, squares)
    weight = (shares**2).sum(axis=0)
    units = np.maximum(design.units_of_task, 2).astype(np.float64)
    t_values = studentize(shift, cross, squares, weight, design.items, units)
    normal = np.where(squares > 0, to_normal(t_values, np.maximum(design.task_df, 1e-3)), 0.0)
    return Joint(t, np.sign(shift) * normal, False)


def _step_down(signed: Floats, order: NDArray[np.intp], ordered: Floats) -> Floats:
    """Step-down p by the largest of each task and of those whose p is no smaller, add-one counts. Shape (T,)."""
    z = -special.ndtri(np.clip(ordered, 1e-300, 1 - 1e-16))
    # From the back: the largest of a task and of all that come after it in the order of their p.
    greatest = np.maximum.accumulate(signed[:, order[::-1]], axis=1)[:, ::-1]
    return np.asarray((1 + (greatest >= z).sum(axis=0)) / (1 + len(signed)))
