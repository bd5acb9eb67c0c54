"""Files that the real harnesses wrote, against the table of what their runs did."""

from __future__ import annotations

import pytest

from service.errors import ForelockError
from tests.ingest.truth import folder, mapping_of, read, table, truth

INSPECT = {"cluster_key": "topic", "values": {"P": 0.5, "N": 0}}


def agrees(tool, file, of, endpoint, paths, given=None, **mapping):
    wanted, _absent = truth(tool, file, of, endpoint)
    found = read([folder(tool) / path for path in paths], mapping_of(**mapping), endpoint, arm=given)
    assert table(found, of) == wanted


@pytest.mark.parametrize(
    ("file", "arm", "endpoint", "more"),
    [
        ("baseline.eval", "baseline", "match", {"arm": "metadata.arm"}),
        ("candidate.eval", "candidate", "match", {"arm": "tags"}),
        ("baseline_json.json", "baseline", "match", {}),
        ("candidate_json.json", "candidate", "match", {}),
        ("baseline_edited.eval", "baseline", "match", {"edited": "original"}),
        ("baseline_integer_ids.eval", "baseline", "match", {}),
        ("candidate_limit.eval", "candidate", "match", {"limit": "missing"}),
        ("candidate_reducers.eval", "candidate", "match", {}),
        ("candidate_retries.eval", "candidate", "match", {}),
    ]
    + [
        (f"{arm}_scorers.{form}", arm, scorer, {})
        for arm in ("baseline", "candidate")
        for form in ("eval", "json")
        for scorer in ("graded", "digits", "rubric.right", "rubric.length", "exact_bool")
    ],
)
def test_inspect(file, arm, endpoint, more):
    agrees(
        "inspect",
        file,
        arm,
        endpoint,
        [file],
        given=arm,
        format="inspect",
        scorer=endpoint,
        **INSPECT,
        **more,
    )


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("baseline_cancelled.eval", "import.partial"),
        ("baseline_killed.eval", "import.partial"),
        ("baseline_no_samples.eval", "import"),
        ("baseline_edited.eval", "import.edited"),
        ("candidate_limit.eval", "import.limit"),
    ],
)
def test_inspect_log_that_the_plan_does_not_decide_about_is_refused_by_the_line_to_write(file, line):
    mapping = mapping_of(format="inspect", scorer="match", **INSPECT)
    with pytest.raises(ForelockError) as refused:
        read([folder("inspect") / file], mapping, "match", arm="baseline")
    assert refused.value.problem_code == "import_unmapped"
    assert [fault.path for fault in refused.value.faults] == [line]
    assert "write" in refused.value.faults[0].fix or line in ("import", "import.partial")


@pytest.mark.parametrize("file", ["baseline_cancelled.eval", "baseline_killed.eval"])
def test_part_of_a_run_is_taken_where_the_plan_says_so(file):
    mapping = mapping_of(format="inspect", scorer="match", partial="take", **INSPECT)
    found = table(read([folder("inspect") / file], mapping, "match", arm="baseline"), "baseline")
    wanted, _ = truth("inspect", file, "baseline", "match")
    done = {place: row for place, row in found.items() if row[1] == "ok"}
    assert 9 <= len(done) <= len(found) < 48
    assert (
        done.items()
        <= {
            (item, arm, n): (value, "ok", cluster) for (item, arm, n), (value, _, cluster) in wanted.items()
        }.items()
    )


@pytest.mark.parametrize("run", ["gsm", "choice"])
@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_lm_eval(run, arm):
    keys = (
        ["exact_match,strict-match", "exact_match,flexible-extract"]
        if run == "gsm"
        else ["acc,none", "acc_norm,none"]
    )
    for key in keys:
        metric, _, used = key.partition(",")
        agrees(
            "lm-eval", f"{run}_{arm}/samples_products_{run}_*.jsonl", arm, key, [f"{run}_{arm}"],
            format="lm_eval", metric=metric, filter=used, item_id="doc.id", cluster="doc.topic",
            arm="model_args.arm",
        )  # fmt: skip


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_promptfoo_lines(arm):
    agrees(
        "promptfoo", "two_providers.results.jsonl", arm, "exact", ["two_providers.results.jsonl"], given=arm,
        format="promptfoo", metric="exact", item_id="testCase.metadata.item_id",
        cluster="testCase.metadata.topic", arm="provider.label",
    )  # fmt: skip


@pytest.mark.parametrize("metric", ["exact", "digits", "answered", "success"])
def test_promptfoo_document_with_repeats_and_a_grader_that_threw(metric):
    for arm in ("baseline", "candidate"):
        agrees(
            "promptfoo", "named_scores.results.json", arm, metric, ["named_scores.results.json"],
            format="promptfoo", metric=metric, item_id="testCase.metadata.item_id", grader_failed="missing",
            cluster="testCase.metadata.topic", arm="provider.label",
        )  # fmt: skip


@pytest.mark.parametrize("metric", ["Exact", "Digits [judge]"])
@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_deepeval(arm, metric):
    agrees(
        "deepeval", f"{arm}_test_run.json", arm, metric, [f"{arm}_test_run.json"],
        format="deepeval", metric=metric, cluster="metadata.topic", arm="hyperparameters.arm",
    )  # fmt: skip


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_openai_evals(arm):
    agrees(
        "openai-evals", f"{arm}_match.jsonl", arm, "correct", [f"{arm}_match.jsonl", "samples.jsonl"],
        format="openai_evals", metric="correct", item_id="data.item_id", cluster="data.topic",
        arm="completion_fns.0", arms={"products/baseline": "baseline", "products/candidate": "candidate"},
    )  # fmt: skip


def test_openai_evals_log_without_its_report_is_refused():
    mapping = mapping_of(format="openai_evals", metric="correct")
    with pytest.raises(ForelockError) as refused:
        read([folder("openai-evals") / "candidate_aborted.jsonl"], mapping, "correct", arm="candidate")
    assert [fault.path for fault in refused.value.faults] == ["import.partial"]


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_helm(arm):
    agrees(
        "helm", f"{arm}/per_instance_stats.json", arm, "exact_match", [arm],
        format="helm", metric="exact_match", split="test", cluster="sub_split",
        arm="adapter_spec.model", arms={"acme/baseline": "baseline", "acme/candidate": "candidate"},
    )  # fmt: skip


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_swe_bench(arm):
    file = f"acme__{arm}-v2.products-1.json"
    agrees(
        "swebench", file, arm, "resolved", [file], format="swe_bench", cluster="repository", empty_patch="missing",
        infra_failure="failure", arm="model",
        arms={"acme__baseline-v2": "baseline", "acme__candidate-v2": "candidate"},
    )  # fmt: skip


@pytest.mark.parametrize("metric", ["exact", "digits", "grade"])
@pytest.mark.parametrize("arm", ["baseline", "candidate"])
def test_mlflow(arm, metric):
    agrees(
        "mlflow", f"{arm}_traces_*.json", arm, metric,
        [f"{arm}_run.json", f"{arm}_traces_1.json", f"{arm}_traces_2.json"], given=arm,
        format="mlflow", metric=metric, item_id="inputs.item_id", cluster="tags.topic",
        values={"yes": 1, "no": 0},
    )  # fmt: skip
