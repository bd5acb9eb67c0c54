"""What exports of trackers hide, and files that somebody made to do harm, by small files made here."""

from __future__ import annotations

import copy
import json
from contextlib import ExitStack

import pytest

from service.errors import ForelockError
from service.ingest.documents.files import Files
from service.ingest.mapping.rows import STATUS
from service.ingest.surveys import survey
from tests.ingest.bases import BASES, Base, encoded, opened
from tests.ingest.truth import mapping_of, read, table
from tests.ingest.written import put
from tests.ingest.written import read as read_base

NAMES = {code: name for name, code in STATUS.items()}


def rows(folder, form, *changes, key=None, **more):
    """The rows of a base whose documents have other values at some places, under its mapping and more."""
    base = BASES[form]
    documents = copy.deepcopy(dict(base.documents))
    for (name, *path), value in changes:
        documents[name] = put(documents[name], tuple(path), value)
    mapping = {name: value for name, value in {**base.mapping, **more}.items() if value is not None}
    with ExitStack() as open_ones:
        contents = {name: encoded(name, document) for name, document in documents.items()}
        base = Base(documents, mapping, key or mapping.get("metric", base.key))
        found = read_base(base, opened(base, contents, folder, open_ones))
    return {
        (item, n): (None if status else value, NAMES[status])
        for each in found.rows
        for item, n, value, status in zip(
            each.item_ids, each.replicates, each.values, each.statuses, strict=True
        )
    }


def lines(folder, form, *changes, **more):
    """The lines that a refusal names."""
    with pytest.raises(ForelockError) as refused:
        rows(folder, form, *changes, **more)
    return [fault.path for fault in refused.value.faults]


def detail(folder, form, *changes, **more):
    with pytest.raises(ForelockError) as refused:
        rows(folder, form, *changes, **more)
    assert refused.value.status in (400, 413, 422)
    return refused.value.detail


@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("phoenix", ("runs.json", 0, "error")),
        ("langfuse", ("page.json", "data", 0, "level")),
        ("braintrust", ("run.json", "results", 0, "error")),
        ("opik", ("experiment_1.json", "items", 0, "error_info")),
        ("openai_eval_runs", ("page.json", "data", 0, "sample", "error")),
        ("every_eval_ever", ("run_samples.jsonl", 0, "error")),
        ("langsmith", ("frame.jsonl", 0, "error")),
        ("langsmith runs", ("runs.json", 0, "runs", 0, "error")),
        ("terminal-bench", ("results.json", "results", 0, "failure_mode")),
        ("weave", ("calls.jsonl", 1, "exception")),
        ("harbor", ("a.result.json", "exception_info")),
    ],
)
def test_score_beside_an_error_counts_as_the_plan_says_and_never_by_itself(tmp_path, form, place):
    value = {"langfuse": "ERROR", "openai_eval_runs": {"code": "c", "message": "m"}, "opik": {"message": "m"},
             "harbor": {"exception_type": "E"}}.get(form, "raised")  # fmt: skip
    change = (place, value)
    assert lines(tmp_path, form, change, error=None) == ["import.error"]
    (row, *_) = rows(tmp_path, form, change, error="error").values()
    assert row == (None, "error")
    (row, *_) = rows(tmp_path, form, change, error="score").values()
    assert row == (1.0, "ok")


@pytest.mark.parametrize(
    ("form", "change"),
    [
        (
            "opik test results",
            (("results.json", "test_results", 0, "score_results", 0, "scoring_failed"), True),
        ),
        ("phoenix", (("runs.json", 0, "annotations", 0, "error"), "raised")),
        ("braintrust", (("run.json", "results", 0, "metadata", "scorer_errors"), {"exact": "raised"})),
        ("pydantic_evals", (("report.json", "cases", 0, "scores"), {})),
        ("weave", (("calls.jsonl", 1, "output", "scores", "exact"), None)),
        ("openai_eval_runs", (("page.json", "data", 0, "results", 0, "sample"), {"error": {"code": "c"}})),
    ],
)
def test_evaluator_that_raised_is_an_error_and_no_zero(tmp_path, form, change):
    metric = "Share" if form == "pydantic_evals" else "exact"
    assert next(iter(rows(tmp_path, form, change, metric=metric).values())) == (None, "error")
    assert next(iter(rows(tmp_path, form, change, metric=metric, grader_failed="missing").values())) == (
        None,
        "missing",
    )


def test_failed_evaluator_of_pydantic_evals_is_known_by_what_it_gives_elsewhere(tmp_path):
    cases = BASES["pydantic_evals"].documents["report.json"]["cases"]
    failed = {**cases[0], "name": "i0 [2/2]", "scores": {}}
    answer = rows(tmp_path, "pydantic_evals", (("report.json", "cases"), [*cases, failed]), metric="share")
    assert answer == {("i0", 1): (0.5, "ok"), ("i0", 2): (None, "error"), ("i1", 1): (None, "error")}


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("langfuse", (("page.json", "meta", "cursor"), "next")),
        ("braintrust events", (("page.json", "cursor"), "next")),
        ("openai_eval_runs", (("page.json", "has_more"), True)),
        ("openai_eval_runs", (("run.json", "status"), "failed")),
        ("phoenix", (("experiment.json", "data", "missing_run_count"), 3)),
        ("opik", (("experiment_1.json", "experiment", "status"), "running")),
        ("harbor", (("job.result.json", "n_total_trials"), 3)),
        ("harbor", (("job.result.json", "finished_at"), None)),
    ],
)
def test_page_or_run_that_goes_on_is_refused_by_the_line_to_write(tmp_path, form, change):
    assert lines(tmp_path, form, change) == ["import.partial"]
    assert rows(tmp_path, form, change, partial="take")


def test_call_of_weave_that_has_not_ended_is_no_error_and_no_answer(tmp_path):
    """What is exported while an evaluation runs: its last calls were begun, and nothing more is known of them."""
    root, done = BASES["weave"].documents["calls.jsonl"]
    begun = {
        **done,
        "id": "c2",
        "inputs": {**done["inputs"], "example": {"id": "i1", "topic": "a"}},
        "output": None,
    }
    del begun["ended_at"]
    change = (("calls.jsonl",), [root, done, begun])
    assert lines(tmp_path, "weave", change) == ["import.partial"]
    assert rows(tmp_path, "weave", change, partial="take") == {("i0", 1): (1.0, "ok")}
    raised = {**begun, "exception": "raised"}
    known = rows(tmp_path, "weave", (("calls.jsonl",), [root, done, raised]), error="error")
    assert known["i1", 1] == (None, "error")


@pytest.mark.parametrize(
    ("form", "place", "entry", "line"),
    [
        (
            "langfuse",
            ("page.json", "data", 0, "scores"),
            {"name": "exact", "value": 0, "source": "ANNOTATION"},
            "source",
        ),
        (
            "phoenix",
            ("runs.json", 0, "annotations"),
            {"name": "exact", "score": 0, "annotator_kind": "LLM"},
            "source",
        ),
        (
            "opik",
            ("experiment_1.json", "items", 0, "feedback_scores"),
            {"name": "exact", "value": 0},
            "several",
        ),
        ("openai_eval_runs", ("page.json", "data", 0, "results"), {"name": "exact", "score": 0}, "several"),
    ],
)
def test_two_scores_of_a_name_are_refused_until_the_plan_says_which(tmp_path, form, place, entry, line):
    name, *path = place
    entries = BASES[form].documents[name]
    for key in path:
        entries = entries[key]
    change = (place, [*entries, entry])
    assert lines(tmp_path, form, change) == [f"import.{line}"]
    chosen = {"several": "last"} if line == "several" else {"source": entry.get("source", "LLM")}
    assert next(iter(rows(tmp_path, form, change, **chosen).values())) == (0.0, "ok")


def test_mean_of_several_feedbacks_is_taken_where_the_plan_says_so(tmp_path):
    change = (("runs.json", 0, "runs", 0, "feedback_stats", "exact"), {"n": 2, "avg": 0.5})
    assert lines(tmp_path, "langsmith runs", change) == ["import.several"]
    assert list(rows(tmp_path, "langsmith runs", change, several="mean").values()) == [(0.5, "ok")]


def test_empty_cell_of_langsmith_and_ragas_is_not_said_to_be_missing_by_itself(tmp_path):
    for form, name in (("langsmith", "feedback.exact"), ("ragas", "exact")):
        change = (("frame.jsonl", 0, name), None)
        assert lines(tmp_path, form, change, grader_failed=None) == ["import.grader_failed"]
        assert list(rows(tmp_path, form, change, grader_failed="missing").values()) == [(None, "missing")]


@pytest.mark.parametrize(
    ("form", "frame"),
    [
        ("ragas", {"user_input": {"0": "q"}, "exact": {"0": 1}}),
        ("langsmith", {"example_id": {"0": "i0"}, "feedback.exact": {"0": 1}}),
        ("phoenix", {"example_id": {"0": "i0"}, "repetition_number": {"0": 1}}),
    ],
)
def test_frame_written_by_columns_is_refused_with_how_it_is_written_by_rows(tmp_path, form, frame):
    path = tmp_path / "frame.json"
    path.write_text(json.dumps(frame))
    with ExitStack() as open_ones, pytest.raises(ForelockError) as refused:
        survey(Files.at([path], open_ones), form)
    assert 'to_json(orient="records")' in refused.value.detail


def test_score_of_zero_in_a_frame_of_phoenix_is_no_empty_cell(tmp_path):
    run = {
        "example_id": "i0", "repetition_number": 1, "input": {}, "reference_output": {}, "output": "y", "error": None,
        "annotation_exact_label": "wrong", "annotation_exact_score": 0.0, "annotation_exact_annotator_kind": "CODE",
    }  # fmt: skip
    only = {"cluster": None}
    assert list(rows(tmp_path, "phoenix", (("runs.json", 0), run), **only).values()) == [(0.0, "ok")]


def test_ids_that_opik_counts_itself_are_none(tmp_path):
    change = (("results.json", "test_results", 0, "test_case", "dataset_item_id"), "temp_item_0")
    assert lines(tmp_path, "opik test results", change) == ["import.item_id"]


def test_parts_of_a_result_are_no_results(tmp_path):
    assert len(rows(tmp_path, "braintrust events")) == 1
    only = BASES["weave"].documents["calls.jsonl"][:1]
    assert "predict_and_score" in detail(tmp_path, "weave", (("calls.jsonl",), only))


def test_page_of_langfuse_that_cannot_tell_all_scores_is_refused(tmp_path):
    score = BASES["langfuse"].documents["page.json"]["data"][0]["scores"][0]
    many = [{**score, "name": f"s{n}"} for n in range(50)]
    assert "50 scores" in detail(tmp_path, "langfuse", (("page.json", "data", 0, "scores"), many))


def test_submission_without_predictions_does_not_say_what_failed(tmp_path):
    (tmp_path / "results.json").write_text('{"resolved": ["a-1"], "no_generation": [], "no_logs": []}')
    with ExitStack() as open_ones, pytest.raises(ForelockError) as refused:
        survey(Files.at([tmp_path / "results.json"], open_ones), "swe_bench_experiments")
    assert "all_preds.jsonl" in refused.value.faults[0].fix


def test_swe_bench_submission_counts_what_failed_plainly_as_wrong(tmp_path):
    assert rows(tmp_path, "swe_bench_experiments") == {
        ("a-1", 1): (1.0, "ok"), ("a-2", 1): (0.0, "ok"), ("a-3", 1): (0.0, "ok"),
    }  # fmt: skip
    assert lines(tmp_path, "swe_bench_experiments", no_generation=None) == ["import.no_generation"]


def submission(folder, **documents):
    """The rows of a submission whose files stand there, by name before their ending."""
    paths = [folder / f"{name}.json" for name in documents]
    for path, document in zip(paths, documents.values(), strict=True):
        path.write_text(json.dumps(document))
    plan = mapping_of(format="swe_bench_experiments", no_generation="failure")
    rows_of = table(read(paths, plan, "resolved", arm="baseline"), "baseline")
    return {item: value for (item, _, _), (value, _, _) in rows_of.items()}


@pytest.mark.parametrize("predictions", ["a-1", None, 1, [], {}, [{"instance_id": "a-2"}], {"a-2": {}}])
def test_predictions_that_lack_what_was_resolved_are_not_those_of_the_submission(tmp_path, predictions):
    """Whoever cuts them short would leave what was resolved, and so a score of 100 %."""
    results = {"resolved": ["a-1"], "no_generation": []}
    with pytest.raises(ForelockError, match="predictions"):
        submission(tmp_path, preds=predictions, results=results)
    assert submission(tmp_path, preds={"a-1": {}, "a-2": {}}, results=results) == {"a-1": 1.0, "a-2": 0.0}


def test_details_of_a_submission_tell_every_instance_and_the_results_beside_them_no_other(tmp_path):
    details = {"a-1": {"resolved": True, "cost": 0.5, "api_calls": 3}, "a-2": {"resolved": False}}
    only = {"per_instance_details": details}
    assert submission(tmp_path, **only) == {"a-1": 1.0, "a-2": 0.0}
    results = {"resolved": ["a-1"], "no_generation": ["a-3"]}
    assert submission(tmp_path, **only, results=results) == {"a-1": 1.0, "a-2": 0.0, "a-3": 0.0}
    for resolved in ([], ["a-1", "a-2"], ["a-1", "a-9"]):
        with pytest.raises(ForelockError, match="differ on what is resolved"):
            submission(tmp_path, **only, results={"resolved": resolved})
    for told in ({}, {"resolved": None}, {"resolved": "yes"}, 1):
        with pytest.raises(ForelockError, match="does not say"):
            submission(tmp_path, per_instance_details={"a-1": told})


@pytest.mark.parametrize(
    "text",
    [
        "cases: &a [*a]\n",
        "a: &a [x]\nb: &b [*a, *a]\ncases: [*b, *b]\n",
        "cases: !!python/object/apply:os.system [ls]\n",
        "cases: []\ncases: []\n",
        "cases: " + "[" * 200 + "]" * 200 + "\n",
        "cases: [{name: " + "1" * 5000 + "}]\n",
        "cases: [{? [a] : b}]\n",
        "cases: [\n",
        "- 1\n",
    ],
    ids=["own", "laughs", "tag", "twice", "deep", "digits", "key", "cut", "list"],
)
def test_yaml_that_json_could_not_say_is_refused(tmp_path, text):
    path = tmp_path / "report.yaml"
    path.write_text(text)
    with ExitStack() as open_ones, pytest.raises(ForelockError) as refused:
        survey(Files.at([path], open_ones), "pydantic_evals")
    assert refused.value.status in (400, 413, 422)


def test_dates_of_yaml_stay_what_they_are(tmp_path):
    path = tmp_path / "report.yaml"
    path.write_text("cases: [{name: i0, metadata: {day: 2026-11-21}, scores: {s: {value: .nan}}}]\n")
    with ExitStack() as open_ones:
        assert survey(Files.at([path], open_ones), "pydantic_evals")["samples"] == 1


@pytest.mark.parametrize(
    "form", ["phoenix", "langfuse", "braintrust", "opik", "every_eval_ever", "weave", "ragas"]
)
def test_record_that_names_a_key_twice_is_refused(tmp_path, form):
    base = BASES[form]
    name = next(iter(base.documents)) if form != "phoenix" else "runs.json"
    contents = {each: encoded(each, document) for each, document in base.documents.items()}
    contents[name] = contents[name].replace(b'"exact"', b'"exact", "twice": 1, "twice": 2, "x": "exact"', 1) if (
        form in ("phoenix", "langfuse", "opik", "every_eval_ever")) else contents[name].replace(
        b'"exact":', b'"exact": 0, "exact":', 1)  # fmt: skip
    with ExitStack() as open_ones, pytest.raises(ForelockError) as refused:
        read_base(base, opened(base, contents, tmp_path, open_ones))
    assert "twice" in refused.value.detail
