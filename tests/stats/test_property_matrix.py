"""The table of docs/differences.md against the tests that stand behind each of its cells."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("swap", "order", "names", "monotone", "dual", "brute", "bounds")

P = "stats/test_properties.py"
W = "stats/test_properties_without_arms.py"
BEHIND: dict[str, dict[str, str]] = {
    "Paired": {
        "swap": f"{P}::test_swapping_binary_arms_mirrors_every_field",
        "order": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "names": "stats/test_paired_bootstrap_metrics.py::test_names_and_order_of_clusters_do_not_matter",
        "monotone": f"{P}::test_a_loss_turned_into_a_win_speaks_for_the_candidate",
        "dual": f"{P}::test_interval_excludes_zero_exactly_when_the_test_rejects",
        "brute": "stats/test_paired_bootstrap.py::test_by_definition",
        "bounds": f"{P}::test_binary_answers_stay_within_their_bounds",
    },
    "Clustered": {
        "swap": f"{P}::test_swapping_clustered_arms_mirrors_every_field",
        "order": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "names": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "monotone": f"{P}::test_a_loss_turned_into_a_win_never_raises_the_p_of_a_sign_flip",
        "dual": "stats/test_clustered_mcnemar.py::test_t_interval_excludes_zero_exactly_when_the_test_rejects",
        "brute": "stats/test_clustered_mcnemar.py::test_sign_flip_by_definition",
        "bounds": f"{P}::test_clustered_answers_stay_within_their_bounds",
    },
    "Equivalence": {
        "swap": f"{P}::test_swapping_binary_arms_mirrors_every_field",
        "order": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "names": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "monotone": f"{P}::test_a_loss_turned_into_a_win_speaks_for_the_candidate",
        "dual": "stats/test_equivalence.py::test_interval_inside_exactly_when_both_tests_reject",
        "brute": "kernels/test_intervals_and_draws.py::test_exact_p_by_definition",
        "bounds": f"{P}::test_binary_answers_stay_within_their_bounds",
    },
    "Runs and seeds": {
        "swap": f"{P}::test_swapping_arms_of_scores_mirrors_every_field",
        "order": f"{P}::test_order_of_scores_does_not_matter",
        "names": "n/a",
        "monotone": f"{P}::test_a_loss_turned_into_a_win_speaks_for_the_candidate",
        "dual": f"{P}::test_interval_excludes_zero_exactly_when_the_test_rejects",
        "brute": "stats/test_wilcoxon.py::test_exact_with_ties_and_zeros_by_enumeration",
        "bounds": f"{P}::test_answers_on_scores_stay_within_their_bounds",
    },
    "Design": {
        "swap": f"{W}::test_power_mirrors_with_the_arms_and_is_a_probability",
        "order": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "names": f"{P}::test_order_of_items_and_names_of_clusters_do_not_matter",
        "monotone": f"{W}::test_power_grows_with_the_wins_and_the_margin",
        "dual": "stats/test_sample_size.py::test_power_holds_from_n_on_and_fails_just_below",
        "brute": "kernels/test_power.py::test_tango_power_by_enumeration",
        "bounds": f"{W}::test_power_mirrors_with_the_arms_and_is_a_probability",
    },
    "Multiplicity": {
        "swap": "n/a",
        "order": f"{W}::test_adjusted_values_move_with_their_hypotheses_and_with_p",
        "names": "n/a",
        "monotone": f"{W}::test_adjusted_values_move_with_their_hypotheses_and_with_p",
        "dual": f"{W}::test_adjusted_values_move_with_their_hypotheses_and_with_p",
        "brute": f"{W}::test_holm_by_definition_is_the_closed_bonferroni_test",
        "bounds": f"{W}::test_adjusted_values_move_with_their_hypotheses_and_with_p",
    },
    "Cumulative effect": {
        "swap": f"{P}::test_swapping_binary_arms_mirrors_every_field",
        "order": f"{P}::test_the_end_of_a_sequence_forgets_its_order",
        "names": f"{P}::test_names_of_clusters_do_not_matter_in_an_order",
        "monotone": f"{P}::test_a_loss_turned_into_a_win_speaks_for_the_candidate",
        "dual": "stats/test_cumulative_effect.py::test_every_point_is_the_interval_of_its_prefix",
        "brute": "kernels/test_cumulative.py::test_percentile_by_brute_force",
        "bounds": f"{P}::test_binary_answers_stay_within_their_bounds",
    },
    "Sequential": {
        "swap": f"{P}::test_swapping_binary_arms_mirrors_every_field",
        "order": f"{P}::test_the_end_of_a_sequence_forgets_its_order",
        "names": f"{P}::test_names_of_clusters_do_not_matter_in_an_order",
        "monotone": f"{P}::test_one_more_win_or_one_less_loss_raises_the_e_value_of_a_leader",
        "dual": "stats/test_sequential.py::test_p_interval_and_boundary_agree",
        "brute": "kernels/test_anytime.py::test_no_peeker_gains_more_than_alpha_exactly",
        "bounds": f"{P}::test_binary_answers_stay_within_their_bounds",
    },
    "Replication agreement": {
        "swap": f"{W}::test_concordance_is_symmetric_bounded_and_blind_to_names",
        "order": "stats/test_pas.py::test_order_does_not_matter",
        "names": f"{W}::test_concordance_is_symmetric_bounded_and_blind_to_names",
        "monotone": "stats/test_bayes_factor.py::test_evidence_grows_with_t_whatever_its_sign",
        "dual": "n/a",
        "brute": "stats/test_bayes_factor.py::test_regression_agrees_with_quad",
        "bounds": f"{W}::test_agreement_of_posteriors_is_symmetric_bounded_and_rises_towards_the_other_side",
    },
}


@cache
def functions(name: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / name).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def table() -> dict[str, list[str]]:
    """Family to its cells, as the page prints them."""
    text = (ROOT / "docs" / "differences.md").read_text("utf-8").split("# Which properties hold")[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", text, re.M)
    ]
    return {row[0]: row[1:] for row in rows[2:]}


@pytest.mark.parametrize("family", BEHIND)
def test_every_cell_stands_on_a_test_or_has_no_meaning(family):
    assert tuple(BEHIND[family]) == COLUMNS
    for behind, printed in zip(BEHIND[family].values(), table()[family], strict=True):
        assert (behind == "n/a") is (printed == "n/a"), (family, printed)
        if behind != "n/a":
            name, _, test = behind.partition("::")
            assert test in functions(name), behind


def test_the_page_has_every_family_and_explains_every_exception():
    assert list(table()) == list(BEHIND)
    text = (ROOT / "docs" / "differences.md").read_text("utf-8")
    marks = {int(mark) for row in table().values() for cell in row for mark in re.findall(r"\((\d+)\)", cell)}
    assert marks == {int(number) for number in re.findall(r"^(\d+)\. ", text, re.M)}
    assert all(
        re.search(r"\(\d+\)", cell) for row in table().values() for cell in row if cell.startswith("no")
    )
