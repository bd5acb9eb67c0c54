"""Files that the real trackers and libraries wrote, against the table of what their runs did."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path

import pytest

from forelock.import_files import imports_of
from forelock.problem import FileFault
from service.errors import ForelockError
from service.ingest.documents.files import Files
from service.ingest.harnesses.trackers.phoenix import HARNESS, PhoenixExperiment
from service.ingest.mapping.fingerprints import content_finder
from tests.ingest.making import behaviour
from tests.ingest.truth import folder, mapping_of, read, table, truth

ARMS = ("baseline", "candidate")
METRICS = ("exact", "digits")
FILES = [
    (tool, f"{arm}{suffix}", arm, {**mapping, **more})
    for arm in ARMS
    for tool, suffix, mapping, more in [
        ("pydantic-evals", ".json", {"format": "pydantic_evals", "cluster": "metadata.topic"}, {}),
        ("pydantic-evals", "_repeats.json", {"format": "pydantic_evals", "cluster": "metadata.topic"}, {}),
        (
            "langsmith",
            ".csv",
            {"format": "langsmith", "item_id": "inputs.item_id", "cluster": "inputs.topic"},
            {"grader_failed": "error"},
        ),
        (
            "langsmith",
            ".jsonl",
            {"format": "langsmith", "item_id": "inputs.item_id", "cluster": "inputs.topic"},
            {"grader_failed": "error"},
        ),
        (
            "braintrust",
            ".json",
            {"format": "braintrust", "item_id": "metadata.item_id", "cluster": "metadata.topic"},
            {},
        ),
        (
            "braintrust",
            "_trials.json",
            {"format": "braintrust", "item_id": "metadata.item_id", "cluster": "metadata.topic"},
            {"replicate": "order"},
        ),
        ("opik", ".json", {"format": "opik", "item_id": "data.item_id", "cluster": "data.topic"}, {}),
    ]
]
FILES += [
    (
        "pydantic-evals",
        "candidate.yaml",
        "candidate",
        {"format": "pydantic_evals", "cluster": "metadata.topic"},
    ),
    (
        "langsmith",
        "candidate_repeats.csv",
        "candidate",
        {
            "format": "langsmith",
            "item_id": "inputs.item_id",
            "cluster": "inputs.topic",
            "grader_failed": "error",
            "replicate": "order",
        },
    ),
]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("tool", "file", "arm", "mapping"), FILES, ids=[f"{tool} {file}" for tool, file, *_ in FILES]
)
def test_file_says_what_the_run_did(tool, file, arm, mapping, metric):
    wanted, absent = truth(tool, file, arm, metric)
    found = table(read([folder(tool) / file], mapping_of(metric=metric, **mapping), metric, arm=arm), arm)
    assert found == wanted
    assert not found.keys() & absent.keys()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "file", ["baseline.csv", "baseline.jsonl", "candidate.csv", "candidate.jsonl", "candidate_index.csv"]
)
def test_frame_of_ragas_goes_by_the_hash_of_what_was_asked(file, metric):
    arm = file.partition("_")[0].partition(".")[0]
    names = {
        hashlib.sha256(behaviour.question(index).encode()).hexdigest(): behaviour.item_id(index)
        for index in behaviour.INDICES
    }
    mapping = mapping_of(format="ragas", metric=metric, grader_failed="error")
    found = table(read([folder("ragas") / file], mapping, metric, arm=arm), arm)
    wanted, _ = truth("ragas", file, arm, metric)
    assert {(names[item], of, n): row[:2] for (item, of, n), row in found.items()} == {
        place: row[:2] for place, row in wanted.items()
    }


PHOENIX = ["baseline", "candidate", "baseline_repetitions", "candidate_repetitions"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ending", ["json", "csv"])
@pytest.mark.parametrize("name", PHOENIX)
def test_phoenix_answers_what_the_run_did(name, ending, metric):
    """Its JSON leaves out the examples' metadata, where the clusters are; its CSV has them."""
    arm = name.partition("_")[0]
    mapping = mapping_of(
        format="phoenix", metric=metric, item_id="input.item_id", arm="metadata.arm", error="error",
        cluster="metadata.topic" if ending == "csv" else None,
    )  # fmt: skip
    paths = [folder("phoenix") / f"{name}{suffix}" for suffix in (f".{ending}", ".experiment.json")]
    wanted, _ = truth("phoenix", f"{name}.json", arm, metric)
    found = table(read(paths, mapping, metric), arm)
    columns = 3 if ending == "csv" else 2
    assert {place: row[:columns] for place, row in found.items()} == {
        place: row[:columns] for place, row in wanted.items()
    }


@pytest.mark.parametrize("name", PHOENIX)
def test_phoenix_exports_pin_the_same_items_by_the_same_content(name):
    told = content_finder(HARNESS.content)
    contents = []
    for ending in ("json", "csv"):
        with ExitStack() as open_ones:
            samples = PhoenixExperiment(
                Files.at([folder("phoenix") / f"{name}.{ending}"], open_ones)
            ).samples()
            contents.append([(sample.fields["example_id"], told(sample.fields)) for sample in samples])
    assert contents[0] == contents[1]
    assert all(sha256 for _item, (sha256, _words) in contents[0])


EXPORTED = (
    "example_id,repetition_number,input,reference_output,output,metadata,error,"
    "annotation_a_score_label,annotation_a_score_score,annotation_a_score_annotator_kind,annotation_a_score_error,"
    "annotation_a_label,annotation_a_score,annotation_a_annotator_kind,annotation_a_error\n"
)


def phoenix_row(tmp_path, line: str, metric: str, **more):
    path = tmp_path / "e.csv"
    other = "j,1,{},{},x,{},,,1.0,CODE,,,1.0,HUMAN,\n"
    path.write_text(EXPORTED + line + other, "utf-8")
    mapping = mapping_of(format="phoenix", metric=metric, **more)
    return table(read([path], mapping, metric, arm="m", arms=("m",)), "m")["i", "m", 1]


@pytest.mark.parametrize(
    ("line", "metric", "row"),
    [
        ("i,1,{},{},x,{},,,0.25,CODE,,,0.5,CODE,\n", "a", (0.5, "ok", None)),
        ("i,1,{},{},x,{},,,0.25,CODE,,,0.5,CODE,\n", "a_score", (0.25, "ok", None)),
        ("i,1,{},{},x,{},,,0.25,CODE,,,,,\n", "a", (None, "missing", None)),  # nobody annotated
        ("i,1,{},{},x,{},,,0.25,CODE,,,,CODE,ValueError()\n", "a", (None, "error", None)),
        ("i,1,{},{},x,{},,,0.25,CODE,,,0.0,CODE,ValueError()\n", "a", (None, "error", None)),
        ("i,1,{},{},,{},RuntimeError(),,,,,,,,\n", "a", (None, "error", None)),
        ("i,1,{},{},x,{},,,,,,pass,,LLM,\n", "a", (1.0, "ok", None)),  # a label alone
        ("i,1,{},{},x,{},,,,,,pass,0,LLM,\n", "a", (0.0, "ok", None)),  # the score goes before it
        ("i,1,{},{},x,{},,,,,,,1e-3,LLM,\n", "a", (0.001, "ok", None)),
    ],
)
def test_line_of_phoenix_is_read_as_its_run(tmp_path, line, metric, row):
    more = {"values": {"pass": 1}} if "pass" in line else {}
    assert phoenix_row(tmp_path, line, metric, **more) == row


def test_line_of_phoenix_counts_whose_annotation_it_is(tmp_path):
    line = "i,1,{},{},x,{},,,,,,,1.0,LLM,\n"
    assert phoenix_row(tmp_path, line, "a", source="LLM") == (1.0, "ok", None)
    assert phoenix_row(tmp_path, line, "a", source="HUMAN") == (None, "missing", None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (EXPORTED + 'i,1,"{""a"": 1",{},x,{},,,,,,,1.0,LLM,\n', "input"),
        (EXPORTED + 'i,1,"{""a"": 1, ""a"": 2}",{},x,{},,,,,,,1.0,LLM,\n', "input"),
        (EXPORTED + 'i,1,"{""a"": ' + "[" * 50_000 + '",{},x,{},,,,,,,1.0,LLM,\n', "input"),
        (EXPORTED + "i,1,{},{},x\n", "5 cells"),
        (EXPORTED.replace("a_score_label", "a_label") + "i\n", "twice"),
    ],
    ids=["cut", "twice", "deep", "short", "header"],
)
def test_csv_of_phoenix_that_is_none_is_refused(tmp_path, text, says):
    path = tmp_path / "e.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ForelockError, match=says):
        read([path], mapping_of(format="phoenix", metric="a"), "a", arm="m")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("arm", ARMS)
def test_job_of_harbor_says_what_its_trials_did(arm, metric):
    """Read as the command sends it: every file of the folder that is a result, by its folder's name."""
    mapping = mapping_of(format="harbor", metric=metric, arm="model")
    _, (one,) = imports_of([str(folder("harbor") / arm)], None)
    wanted, _ = truth("harbor", arm, arm, metric)
    found = table(read(one.paths, mapping, metric), arm)
    assert {place: row[:2] for place, row in found.items()} == {
        place: row[:2] for place, row in wanted.items()
    }
    with pytest.raises(ForelockError) as refused:
        read(one.paths[1:], mapping, metric)
    assert [fault.path for fault in refused.value.faults] == ["import.partial"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("arm", ARMS)
def test_calls_of_weave_say_what_the_run_did(arm, metric):
    """A scorer that raised takes the whole call with it: what the other scorer said of the item is not in the file."""
    mapping = mapping_of(format="weave", metric=metric, item_id="example.item_id", cluster="example.topic")
    wanted, absent = truth("weave", f"{arm}_calls.jsonl", arm, metric)
    path = folder("weave") / f"{arm}_calls.jsonl"
    assert table(read([path], mapping, metric, arm=arm), arm) == wanted
    assert len(absent) == (arm == "candidate")


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
@pytest.mark.parametrize("arm", ARMS)
def test_every_eval_ever_says_what_the_harness_said(arm, metric):
    mapping = mapping_of(format="every_eval_ever", metric=metric, arm="model_id", arms={f"acme/{arm}": arm})
    paths = [folder("every-eval-ever") / f"{arm}{suffix}" for suffix in ("_samples.jsonl", ".json")]
    wanted, _ = truth("every-eval-ever", f"{arm}_samples.jsonl", arm, metric)
    found = table(read(paths, mapping, metric), arm)
    assert {place: row[:2] for place, row in found.items()} == {
        place: row[:2] for place, row in wanted.items()
    }


@pytest.mark.parametrize(
    ("tool", "file", "mapping", "line"),
    [
        ("ragas", "candidate.csv", {"format": "ragas"}, "import.grader_failed"),
        ("langsmith", "candidate.csv", {"format": "langsmith"}, "import.grader_failed"),
        (
            "langsmith",
            "candidate_repeats.csv",
            {"format": "langsmith", "grader_failed": "error"},
            "import.item_id",
        ),
        ("braintrust", "candidate_trials.json", {"format": "braintrust"}, "import.item_id"),
        ("opik", "candidate.json", {"format": "opik"}, "import.item_id"),
        ("phoenix", "candidate.json", {"format": "phoenix", "metric": "exact"}, "import.error"),
        ("phoenix", "candidate.csv", {"format": "phoenix", "metric": "exact"}, "import.error"),
    ],
)
def test_trap_of_a_real_file_is_refused_by_the_line_to_write(tool, file, mapping, line):
    mapping = mapping_of(**{"metric": "digits", **mapping})
    with pytest.raises(ForelockError) as refused:
        read([folder(tool) / file], mapping, mapping.metric, arm="candidate")
    assert refused.value.problem_code == "import_unmapped"
    assert [fault.path for fault in refused.value.faults] == [line]


@pytest.mark.parametrize(
    ("tool", "form"),
    [
        ("pydantic-evals", "pydantic_evals"),
        ("ragas", "ragas"),
        ("langsmith", "langsmith"),
        ("braintrust", "braintrust"),
        ("opik", "opik"),
        ("phoenix", "phoenix"),
        ("weave", "weave"),
        ("every-eval-ever", "every_eval_ever"),
        ("harbor", "harbor"),
        ("terminal-bench", "harbor"),
    ],
)
def test_command_knows_every_real_file_by_itself(tool, form):
    others = ("README.md", "truth.csv")
    paths = [path for path in folder(tool).iterdir() if not path.name.endswith((*others, ".experiment.json"))]
    assert {imports_of([str(path)], None)[0] for path in paths} == {form}


def link(at: Path, to: Path) -> Path:
    at.symlink_to(to)
    return at


def test_link_within_a_folder_is_followed_and_one_that_leads_out_is_refused(tmp_path):
    """A folder of results may come from anybody: what it links to would be sent as a result, and kept."""
    run = tmp_path / "run"
    (run / "kept").mkdir(parents=True)
    (tmp_path / "secret.json").write_text('{"resolved": []}')
    (run / "kept" / "rows.csv").write_text("item_id,value\na,1\n")
    link(run / "rows.csv", run / "kept" / "rows.csv")
    link(run / "round", run / "round")
    link(run / "lost.csv", tmp_path / "lost.csv")
    latest = link(tmp_path / "latest", run)
    form, ones = imports_of([str(latest)], None)
    assert (form, [one.paths[0].name for one in ones]) == ("csv", ["rows.csv", "rows.csv"])
    led_out = link(run / "result.json", Path("..") / "secret.json")
    with pytest.raises(
        FileFault, match=r"result\.json: is a link that leads out of .*: name the file itself"
    ):
        imports_of([str(run)], None)
    assert imports_of([str(led_out)], "swe_bench_experiments")[1][0].paths == (led_out,)


@pytest.mark.parametrize("arm", ARMS)
def test_run_of_terminal_bench_says_what_its_trials_did(arm):
    """A timeout is no failure of the agent's answer until the plan says so, although it is written as unresolved."""
    mapping = mapping_of(format="harbor", metric="resolved", error="error" if arm == "candidate" else None)
    found = table(read([folder("terminal-bench") / arm], mapping, "resolved", arm=arm), arm)
    wanted, _ = truth("terminal-bench", arm, arm, "resolved")
    assert {place: row[:2] for place, row in found.items()} == {
        place: row[:2] for place, row in wanted.items()
    }
    if arm == "candidate":
        undecided = mapping_of(format="harbor", metric="resolved")
        with pytest.raises(ForelockError) as refused:
            read([folder("terminal-bench") / arm], undecided, "resolved", arm=arm)
        assert [fault.path for fault in refused.value.faults] == ["import.error"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("arm", ARMS)
def test_details_of_lighteval_say_what_the_run_did(arm, metric):
    pytest.importorskip("pyarrow")
    mapping = mapping_of(
        format="lighteval", metric=metric, item_id="doc.specific.item_id", cluster="doc.specific.topic",
        arm="model_name", arms={f"acme/{arm}": arm},
    )  # fmt: skip
    form, (one,) = imports_of([str(folder("lighteval") / arm)], None)
    wanted, _ = truth("lighteval", f"{arm}/details", arm, metric)
    assert form == "lighteval"
    assert table(read(one.paths, mapping, metric), arm) == wanted
