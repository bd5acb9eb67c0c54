"""Reports of SWE-bench (`schema_version` 2): one list of instance ids per outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from service.ingest.documents.files import Files
from service.ingest.documents.json_values import loads
from service.ingest.documents.limits import unreadable
from service.ingest.harnesses.harness import SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample

_EVENTS = (
    ("error_ids", "error"),
    ("infra_failure_ids", "infra_failure"),
    ("ambiguous_failure_ids", "ambiguous_failure"),
    ("empty_patch_ids", "empty_patch"),
    ("incomplete_ids", "incomplete"),
)
"""What the lists tell, first the one that counts where an instance is in several."""


class SweBenchReport(Reader):
    """One report of SWE-bench, `MODEL.RUN_ID.json`."""

    def __init__(self, files: Files) -> None:
        name = files.only("*.json", what="a report of SWE-bench", of="one MODEL.RUN_ID.json")
        report = loads(files.read(name), "the report")
        if not isinstance(report, dict) or not isinstance(report.get("resolved_ids"), list):
            raise unreadable("", "the file is no report of SWE-bench: it has no `resolved_ids`")
        if report.get("schema_version") != 2:
            raise unreadable("", "the report is not of schema_version 2; write it with a newer SWE-bench")
        self._report = report
        # A model's name may have dots in it (`gpt-4.1`): the run's id is what stands after the last.
        model, _, run = name.rpartition("/")[2].removesuffix(".json").rpartition(".")
        self.run = {"model": model or run, "run_id": run}

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield every instance with an outcome. One that was submitted and is in no list is not in the data set."""
        outcomes: dict[str, tuple[str | None, bool | None]] = {}
        for name, right in (("unresolved_ids", False), ("resolved_ids", True)):
            for instance in _ids(self._report, name):
                if outcomes.setdefault(instance, (None, right)) != (None, right):
                    raise unreadable("", "the report has an instance that is both resolved and unresolved")
        submitted = set(_ids(self._report, "submitted_ids"))
        # Backwards: what is written last stays, and that is to be what stands first in `_EVENTS`.
        for name, event in reversed(_EVENTS):
            for instance in _ids(self._report, name):
                if event == "incomplete" and instance not in submitted:
                    continue
                resolved = outcomes.get(instance, (None, None))[1]
                if resolved:
                    raise unreadable("", f"the report has an instance that is both resolved and in {name}")
                outcomes[instance] = event, resolved
        for instance, (happened, resolved) in outcomes.items():
            fields = {"id": instance, "repository": instance.rpartition("-")[0]}
            yield Sample(
                f"instance '{instance}'",
                fields,
                {"resolved": Measured(resolved, "unscored" if resolved is None else None)},
                (happened,) if happened else (),
            )


def _ids(report: Mapping[str, Any], name: str) -> Iterator[str]:
    ids = report.get(name)
    if ids is None:
        return
    if not isinstance(ids, list) or not all(isinstance(item_id, str) for item_id in ids):
        raise unreadable("", f"`{name}` of the report is not a list of ids")
    yield from ids


HARNESS = Harness(
    formats=("swe_bench",),
    open=lambda files, _form, _mapping: SweBenchReport(files),
    row=Row(
        title="SWE-bench",
        reads="report, `schema_version` 2",
        by_itself="resolved 1, unresolved 0, errors are errors; `repository` as a path",
        to_say=(
            "`empty_patch`, `infra_failure`, `ambiguous_failure`, `incomplete` (`failure`, `missing` or "
            "`error`)"
        ),
    ),
    undecided={
        "incomplete": Undecided(
            "are incomplete", 'write "incomplete": "missing", "error" or "failure"', "missing"
        ),
        "empty_patch": Undecided(
            "have an empty patch", 'write "empty_patch": "failure", "missing" or "error"', "failure"
        ),
        "infra_failure": Undecided(
            "failed for their infrastructure",
            'write "infra_failure": "missing", "error" or "failure"',
            "missing",
        ),
        "ambiguous_failure": Undecided(
            "failed ambiguously", 'write "ambiguous_failure": "failure", "missing" or "error"', "failure"
        ),
        "error": SCORED_ERROR,
    },
    marks=('"resolved_ids"',),
    doubt=1,
)
