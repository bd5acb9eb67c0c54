"""Layouts of other versions, and what files hide, by small files of each harness made here."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest
import zstandard

from service.domain.plans.importing.imports import FORMATS
from service.errors import ForelockError
from service.ingest.documents.files import Files
from service.ingest.mapping.imported_rows import Imported
from service.ingest.mapping.rows import STATUS
from service.ingest.sections import table
from service.ingest.surveys import survey
from tests.drawing import one_in
from tests.ingest.bases import BASES, Base, encoded, opened
from tests.ingest.written import put
from tests.ingest.written import read as read_base

NAMES = {code: name for name, code in STATUS.items()}


@pytest.fixture
def read(tmp_path):
    """The rows of a base's documents, some of them replaced or left out (None), under its mapping and more."""

    def read_(
        form: str, documents: Mapping[str, Any] | None = None, *, key: str | None = None, **more: Any
    ) -> dict[str, tuple[float | None, str]]:
        base = BASES[form]
        made = {
            name: each for name, each in {**base.documents, **(documents or {})}.items() if each is not None
        }
        mapping = {name: each for name, each in {**base.mapping, **more}.items() if each is not None}
        base = Base(made, mapping, key or base.key, base.zipped)
        with ExitStack() as open_ones:
            contents = {name: encoded(name, each) for name, each in made.items()}
            return rows_of(read_base(base, opened(base, contents, tmp_path, open_ones)))

    return read_


def rows_of(found: Imported) -> dict[str, tuple[float | None, str]]:
    return {
        item_id: (None if status else value, NAMES[status])
        for rows in found.rows
        for item_id, value, status in zip(rows.item_ids, rows.values, rows.statuses, strict=True)
    }


def refusal(read, *args: Any, **more: Any) -> ForelockError:
    with pytest.raises(ForelockError) as caught:
        read(*args, **more)
    return caught.value


def line_of(problem: ForelockError) -> list[str]:
    return [fault.path for fault in problem.faults]


@pytest.mark.parametrize(
    ("compress", "said"),
    one_in(
        3,
        [
            (gzip.compress, "gzip"),
            (zstandard.ZstdCompressor().compress, "Zstandard"),
            (lzma.compress, "xz"),
            (lambda content: content.decode().encode("utf-32"), "UTF-32"),
        ],
    ),
    ids=["gzip", "zstd", "xz", "utf32"],
)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kept", [1.0, 0.6])
def test_file_in_other_clothes_is_told_what_it_is(tmp_path, form, compress, said, kept):
    """Whole, and cut off."""
    content = compress(b'{"item_id": "a", "value": 1}\n' * 50)
    path = tmp_path / "run.json"
    path.write_bytes(content[: int(len(content) * kept)])
    with ExitStack() as open_ones, pytest.raises(ForelockError) as caught:
        survey(Files.at([path], open_ones), form)
    assert caught.value.status in (400, 422)
    assert said in caught.value.detail


def test_table_that_begins_as_a_zip_archive_does_is_a_table():
    with ExitStack() as open_ones:
        file = open_ones.enter_context(io.BytesIO(b"PK,value\na,1\n"))
        assert Files.of(file).archive is None


def test_key_that_a_row_names_twice_is_refused(tmp_path):
    def read(line: str) -> dict[str, tuple[float | None, str]]:
        (tmp_path / "rows.ndjson").write_text(line)
        base = Base({}, {"format": "ndjson", "arm": "arm"}, "value")
        with ExitStack() as open_ones:
            return rows_of(read_base(base, Files.at([tmp_path / "rows.ndjson"], open_ones)))

    plain = '{"item_id": "a:b", "arm": "baseline", "note": {"x": ":"}, "value": 1}'
    assert read(plain) == {"a:b": (1.0, "ok")}
    for twice in ('"value": 0', '"v\\u0061lue": 0', '"note": {"x": 1, "x": 2}'):
        assert "twice" in refusal(read, plain.replace('"value": 1', f'"value": 1, {twice}')).detail


def test_time_that_is_none_names_the_line(read):
    row = BASES["ndjson"].documents["rows.ndjson"][0]
    for odd in ("yesterday", "2026-11-21T10:00:00", 1763719200, True, [], "9999-99-99T00:00:00Z"):
        problem = refusal(read, "ndjson", {"rows.ndjson": [row | {"at": odd}]}, observed_at="at")
        assert line_of(problem) == ["import.observed_at"]
    for good in ("2026-11-21T10:00:00Z", None, ""):
        assert read("ndjson", {"rows.ndjson": [row | {"at": good}]}, observed_at="at") == {"i0": (1.0, "ok")}


def test_log_that_nobody_scored_is_refused_and_not_taken_for_missing(read):
    header = BASES["inspect archive"].documents["header.json"]
    sample = BASES["inspect archive"].documents["samples/i0_epoch_1.json"]
    for scores in ({}, None):
        problem = refusal(read, "inspect archive", {"samples/i0_epoch_1.json": sample | {"scores": scores}})
        assert line_of(problem) == ["import.scorer"]
        assert "has any score" in problem.detail
    failed = {
        "header.json": header,
        "samples/i0_epoch_1.json": sample | {"scores": {}, "error": {"message": "x"}},
    }
    assert read("inspect archive", failed) == {"i0": (None, "error")}


@pytest.mark.parametrize("form", ["inspect", "inspect archive"])
def test_log_with_fewer_samples_than_it_says_is_a_part_of_a_run(read, form):
    name = next(iter(BASES[form].documents))
    said = put(BASES[form].documents[name], ("eval", "dataset", "sample_ids"), ["i0", "i1"])
    assert line_of(refusal(read, form, {name: said})) == ["import.partial"]
    assert read(form, {name: said}, partial="take") == {"i0": (0.0, "ok")}


def test_lm_eval_wrote_an_array_up_to_0_4_2_without_hashes_and_filters(tmp_path):
    """`results.json`, and `MODEL_ARGS_TASK.jsonl`, which is one indented array."""
    lines = [
        {
            "doc_id": number, "doc": {"id": f"i{number}", "topic": "a"}, "target": "1", "arguments": [["q", {}]],
            "resps": [[["1"]]], "filtered_resps": ["1"], "exact": float(number),
        }
        for number in range(2)
    ]  # fmt: skip
    (tmp_path / "arm__baseline_task.jsonl").write_text(json.dumps(lines, indent=2))
    (tmp_path / "results.json").write_text(
        json.dumps({"results": {}, "config": {"model_args": "arm=baseline"}})
    )
    base = BASES["lm_eval"]
    with ExitStack() as open_ones:
        files = Files.at([tmp_path], open_ones)
        assert line_of(refusal(read_base, base, files)) == ["import.item_id"]
        by_id = base._replace(mapping={**base.mapping, "item_id": "doc.id"})
        assert rows_of(read_base(by_id, files)) == {"i0": (0.0, "ok"), "i1": (1.0, "ok")}
        assert survey(files, "lm_eval")["section"]["item_id"] == "doc.id"


@pytest.mark.parametrize("filters", [("strict", "flexible"), ("strict",), ()])
def test_lm_eval_lines_that_do_not_say_their_filter_are_of_the_only_one(read, filters):
    """In older files the lines of all filters followed one another without a name."""
    lines = [
        {name: value for name, value in line.items() if name not in ("filter", "metrics")} | {"exact": exact}
        for exact in range(max(1, len(filters)))
        for line in BASES["lm_eval"].documents["samples_task_1.jsonl"]
    ]
    results = {"task": {"alias": "task", **{f"exact,{name}": 0.5 for name in filters}}}
    told = BASES["lm_eval"].documents["results_1.json"] | {"results": results}
    files = {"samples_task_1.jsonl": lines, "results_1.json": told}
    used = filters[0] if filters else "none"
    if len(filters) > 1:
        for more in ({}, {"replicate": "order"}):
            problem = refusal(read, "lm_eval", files, filter=used, key=f"exact,{used}", **more)
            assert line_of(problem) == ["import.filter"]
    else:
        found = read("lm_eval", files, filter=used, key=f"exact,{used}")
        assert found == {"h0": (0.0, "ok"), "h1": (0.0, "ok")}


def promptfoo(**changes: Any) -> dict[str, Any]:
    document = BASES["promptfoo"].documents["results.json"]
    result = document["results"]["results"][0]
    changed = {name: each for name, each in (result | changes).items() if each != "absent"}
    return {"results.json": put(document, ("results", "results", 0), changed)}


@pytest.mark.parametrize(
    "part",
    [
        {"reason": "Custom function threw error: x"},
        {"reason": "Python code execution failed: Error: x"},
        {"reason": "Ruby code execution failed: x"},
        {"reason": "Webhook error: Request timed out after 300000 ms"},
        {"reason": "No output", "metadata": {"graderError": True}},
    ],
    ids=["javascript", "python", "ruby", "webhook", "model"],
)
def test_promptfoo_grader_that_failed_is_no_wrong_answer(read, part):
    part = {"pass": False, "score": 0, "assertion": {"metric": "exact"}, **part}
    documents = promptfoo(
        success=False, score=0, failureReason=1, error=part["reason"], namedScores={"exact": 0},
        gradingResult={"componentResults": [part]},
    )  # fmt: skip
    assert list(read("promptfoo", documents).values()) == [(None, "error")]
    assert line_of(refusal(read, "promptfoo", documents, grader_failed=None)) == ["import.grader_failed"]


def test_promptfoo_before_failure_reasons_told_errors_by_what_lacks(read):
    graded = {"componentResults": [{"reason": "Expected 3", "assertion": {"metric": "exact"}}]}
    wrong = {"success": False, "score": 0, "namedScores": {"exact": 0}, "failureReason": "absent"}
    failed = promptfoo(**wrong, error="API error: 500", gradingResult=None)
    assert list(read("promptfoo", failed).values()) == [(None, "error")]
    assert list(read("promptfoo", promptfoo(**wrong, error="Expected 3", gradingResult=graded)).values()) == [
        (0.0, "ok")
    ]


def deepeval(*metrics: dict[str, Any], data: str = "metricsData") -> dict[str, Any]:
    document = BASES["deepeval"].documents["test_run_1.json"]
    return {
        "test_run_1.json": put(
            document,
            ("testRunData", "testCases", 0),
            {"name": "i0", "input": "q", data: list(metrics), "additionalMetadata": {"topic": "a"}},
        )
    }


def test_deepeval_metrics_of_its_first_versions_are_read(read):
    old = {"metric": "exact", "score": 0.5, "threshold": 0.5, "success": True, "evaluationModel": "m"}
    assert read("deepeval", deepeval(old, data="metricsMetadata")) == {"i0": (0.5, "ok")}


def test_deepeval_two_metrics_of_one_name_are_refused(read):
    twice = deepeval({"name": "exact", "score": 1}, {"name": "exact", "score": 0})
    assert "two metrics of one name" in refusal(read, "deepeval", twice).detail


def evals(*events: tuple[str, Any]) -> dict[str, Any]:
    spec, *_, report = BASES["openai_evals"].documents["log.jsonl"]
    return {
        "log.jsonl": [
            spec,
            *({"sample_id": "t.0", "type": kind, "data": data} for kind, data in events),
            report,
        ]
    }


def test_openai_evals_several_events_of_a_sample_are_decided_by_the_plan(read):
    metrics = evals(("metrics", {"f": 0.25}), ("metrics", {"f": 0.75}))
    assert line_of(refusal(read, "openai_evals", metrics, metric="f", key="f")) == ["import.several"]
    for said, value in (("first", 0.25), ("last", 0.75)):
        assert read("openai_evals", metrics, metric="f", key="f", several=said) == {"i0": (value, "ok")}
    assert line_of(refusal(read, "openai_evals", metrics, metric="f", key="f", several="any")) == [
        "import.several"
    ]
    matches = evals(("match", {"correct": False}), ("match", {"correct": True}))
    for said, value in (("first", 0.0), ("last", 1.0), ("any", 1.0), ("all", 0.0)):
        assert read("openai_evals", matches, several=said) == {"i0": (value, "ok")}


def test_helm_state_that_lacks_an_instance_tells_nothing_of_it(read):
    state = BASES["helm"].documents["scenario_state.json"]
    for lacking in ({}, {"request_states": []}, put(state, ("request_states", 0, "train_trial_index"), 1)):
        assert (
            "scenario_state.json does not have"
            in refusal(read, "helm", {"scenario_state.json": lacking}).detail
        )
    failed = put(state, ("request_states", 0, "result", "success"), False)
    assert read("helm", {"scenario_state.json": failed}) == {"i0": (None, "error")}
    assert line_of(refusal(read, "helm", {"scenario_state.json": None})) == ["import.error"]
    assert read("helm", {"scenario_state.json": None}, error="score") == {"i0": (1.0, "ok")}


def test_helm_perturbed_rows_are_no_further_instances(read):
    (row,) = BASES["helm"].documents["per_instance_stats.json"]
    perturbed = put(row, ("stats", 0, "name", "perturbation"), {"name": "lowercase"})
    rows = [row, {**perturbed, "perturbation": {"name": "lowercase"}}]
    assert read("helm", {"per_instance_stats.json": rows}) == {"i0": (1.0, "ok")}


@pytest.mark.parametrize(
    ("measured", "proposed"),
    [
        ({"exact_match": (0, 0), "quasi_exact_match": (0, 0)}, "exact_match"),
        ({"f1_score": (0.25, 0.75)}, "f1_score"),
        ({}, None),
    ],
    ids=["all wrong", "a score", "nothing measured"],
)
def test_helm_what_is_counted_of_requests_is_never_proposed_as_the_measure(tmp_path, measured, proposed):
    """It varies and may be 0 or 1 where no answer is right; HELM 0.5.16 writes it first."""
    kept = {"num_references": (2, 2), "inference_runtime": (0.1, 0.3), "finish_reason_length": (0, 1)}
    rows = [
        {
            "instance_id": f"i{at}",
            "train_trial_index": 0,
            "stats": [
                {"name": {"name": name, "split": "test"}, "count": 1, "mean": values[at]}
                for name, values in {**kept, **measured}.items()
            ],
        }
        for at in (0, 1)
    ]
    (tmp_path / "per_instance_stats.json").write_text(json.dumps(rows))
    with ExitStack() as open_ones:
        found = survey(Files.at([tmp_path / "per_instance_stats.json"], open_ones), "helm")
    assert found["section"].get("metric") == proposed
    assert list(found["measures"]) == [*measured, *kept]


def test_helm_two_runs_in_one_import_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for run in ("one", "two"):
            for name, document in BASES["helm"].documents.items():
                archive.writestr(f"{run}/{name}", encoded(name, document))
    with pytest.raises(ForelockError) as caught:
        read_base(BASES["helm"], Files.of(buffer))
    assert "several runs" in caught.value.detail


def test_swe_bench_report_without_version_is_refused(read):
    report = BASES["swe_bench"].documents["baseline.run.json"]
    for version in (1, "2", None):
        problem = refusal(read, "swe_bench", {"baseline.run.json": report | {"schema_version": version}})
        assert "schema_version" in problem.detail


def test_parquet_values_that_are_no_numbers_are_called_that(tmp_path):
    import datetime
    from decimal import Decimal

    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    base = Base({}, {"format": "parquet", "arm": "arm"}, "value")
    for odd in (datetime.date(2026, 1, 1), Decimal("0.5"), b"1"):
        path = tmp_path / "rows.parquet"
        parquet.write_table(arrow.table({"item_id": ["a"], "arm": ["baseline"], "value": [odd]}), path)
        with ExitStack() as open_ones:
            problem = refusal(read_base, base, Files.at([path], open_ones))
        assert line_of(problem) == ["import.values"]
        assert "no number" in problem.detail


def test_promptfoo_numbers_its_results_anew_and_writes_metadata_twice(tmp_path):
    """Version 0.123.1: `id` is of the result, and the metadata of a test stand beside it and within it."""
    (first,) = BASES["promptfoo"].documents["results.json"]["results"]["results"]
    results = [
        first
        | {"id": f"{label}-{at}", "provider": {"label": label}, "vars": {"question": f"q{at}"}}
        | {"metadata": {"topic": f"t{at // 4}"}, "testCase": {"metadata": {"topic": f"t{at // 4}"}}}
        for label in ("baseline", "candidate")
        for at in range(8)
    ]
    (tmp_path / "results.json").write_text(json.dumps({"results": {"version": 3, "results": results}}))
    with ExitStack() as open_ones:
        files = Files.at([tmp_path / "results.json"], open_ones)
        found = survey(files, "promptfoo")
        assert found["ids"] == {"vars": 8}
        assert "item_id" not in found["section"]
        assert [path for path in found["clusters"] if path.endswith("topic")] == ["metadata.topic"]
        asked = {**found["section"], "arms": {"baseline": "a", "candidate": "b"}}
        tables = table(files, asked, None)
    assert [each["arm"] for each in tables] == ["a", "b"]
    assert tables[0]["item_ids"] == tables[1]["item_ids"]


def test_an_import_section_to_paste_names_no_id_for_a_measure(tmp_path):
    (tmp_path / "rows.csv").write_text("id,latency,score\n1,0.5,1\n2,0.25,0\n")
    with ExitStack() as open_ones:
        found = survey(Files.at([tmp_path / "rows.csv"], open_ones), "csv")
    assert found["section"] == {"format": "csv", "item_id": "id", "metric": "score"}


def test_a_table_in_utf_16_is_the_same_table_and_one_that_is_cut_within_a_character_is_refused(tmp_path):
    rows = "item_id;value\n" + "".join(f"ä{at};{at % 2}\n" for at in range(9))
    path = tmp_path / "rows.csv"
    found = []
    for encoding in ("utf-8", "utf-16", "utf-8-sig"):
        path.write_bytes(rows.encode(encoding))
        with ExitStack() as open_ones:
            found.append(survey(Files.at([path], open_ones), "csv"))
    assert found[0] == found[1] == found[2]
    assert found[0]["samples"] == 9
    path.write_bytes(rows.encode("utf-16")[:-1])
    with ExitStack() as open_ones, pytest.raises(ForelockError, match="begins as UTF-16 and is none"):
        survey(Files.at([path], open_ones), "csv")
