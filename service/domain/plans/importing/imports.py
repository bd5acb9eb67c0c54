"""The plan's `import` section: how result files of a harness become rows. Locked, so it is not chosen afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import override

from service.domain.plans.importing import tracker_imports as trackers
from service.domain.plans.importing.mapping import (
    ERROR,
    GRADER,
    PARTIAL,
    UNSCORED,
    CountsAs,
    Measure,
    NoScore,
    NotResolved,
    Readable,
)
from service.domain.plans.importing.table_import import TableImport
from service.domain.plans.strings import Line, Token
from service.records import StrictRecord


class InspectImport(Readable):
    """Logs of Inspect AI, `.eval` or `.json`. Paths begin at the sample; the arm's at the log's `eval`."""

    NEEDS = ("scorer",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "id", "replicate": "epoch", "error": "error", "unscored": "missing"
    }  # fmt: skip
    SCORED_ERRORS: ClassVar[bool] = True
    VALUES: ClassVar[Mapping[str, float]] = {"C": 1.0, "I": 0.0, "true": 1.0, "false": 0.0}

    format: Literal["inspect"] = Field(description="Names this format.")
    scorer: Line | None = Field(
        None, description="Which scorer's values are read; `scorer.key` for one of several."
    )
    cluster_key: Line | None = Field(
        None, description="Key of the sample's metadata: short for `metadata.KEY`."
    )
    error: CountsAs | None = ERROR
    limit: CountsAs | None = Field(
        None, description="What a sample stopped at a limit counts as; null: refused."
    )
    edited: Literal["original", "edited", "error", "missing"] | None = Field(
        None, description="Which score counts where one was edited by hand; null: refused."
    )
    invalidated: CountsAs | None = Field(
        None, description="What an invalidated sample counts as; null: refused."
    )
    no_response: CountsAs | None = Field(
        None, description="What a score counts as that stands for an answer that never came; null: refused."
    )
    unscored: NoScore | None = UNSCORED
    partial: Literal["take"] | None = PARTIAL

    @override
    def place(self, name: str) -> str | None:
        """Return the path, or the metadata's key for clusters."""
        if name == "cluster" and self.cluster is None and self.cluster_key is not None:
            return f"metadata.{self.cluster_key}"
        return super().place(name)


class LmEvalImport(Readable):
    """Samples of lm-evaluation-harness. Paths begin at the line; the arm's at the results file's `config`."""

    NEEDS = ("metric", "filter")
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "doc_hash", "unscored": "missing"}

    format: Literal["lm_eval"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Which metric's values are read.")
    filter: Line | None = Field(None, description="Which of the filters; `none` where the task has none.")
    unscored: NoScore | None = UNSCORED
    partial: Literal["take"] | None = PARTIAL

    @override
    def key(self, measure: Measure) -> str:
        """Return metric and filter, as the results file writes them."""
        return f"{measure.metric},{measure.filter}"


class PromptfooImport(Readable):
    """Results of promptfoo, JSON, JSON lines or CSV. Paths begin at the result, the arm's too."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "vars", "error": "error", "unscored": "missing"}

    format: Literal["promptfoo"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="`score`, `success`, or a named score.")
    error: CountsAs | None = ERROR
    grader_failed: CountsAs | None = GRADER
    unscored: NoScore | None = UNSCORED
    rounded: Literal["take"] | None = Field(
        None,
        description="`take` reads scores that CSV rounds to two digits; null: those other than 0 and 1 are refused.",
    )


class DeepEvalImport(Readable):
    """Test runs of DeepEval. Paths begin at the test case, the arm's at the run."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "name", "grader_failed": "error", "unscored": "missing"
    }  # fmt: skip

    format: Literal["deepeval"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Name of the metric, as the file has it.")
    grader_failed: CountsAs | None = Field(
        None, description="What a metric counts as that raised; null: an error."
    )
    unscored: NoScore | None = UNSCORED


class OpenAIEvalsImport(Readable):
    """Logs of OpenAI evals. Paths begin at the sample, `data` is its line of the data file; the arm's at `spec`."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "sample_id", "unscored": "missing"}

    format: Literal["openai_evals"] = Field(description="Names this format.")
    metric: Line | None = Field(
        None, description="`correct` of the event `match`, or a field of the event `metrics`."
    )
    several: Literal["first", "last", "any", "all"] | None = Field(
        None, description="Which of several `match` events of a sample counts; null: refused."
    )
    unscored: NoScore | None = UNSCORED
    partial: Literal["take"] | None = PARTIAL


class HelmImport(Readable):
    """Runs of HELM. Paths begin at the instance, the arm's at `run_spec.json`."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "id", "replicate": "train_trial", "error": "error", "unscored": "missing"
    }  # fmt: skip
    BOOKKEEPING: ClassVar[tuple[str, ...]] = (
        "num_", "training_", "inference_", "finish_reason_", "estimated_num_tokens", "batch_size", "prompt_truncated",
        "max_prob", "logprob", "predicted_index",
    )  # fmt: skip

    format: Literal["helm"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Name of the statistic, such as `exact_match`.")
    split: Line | None = Field(None, description="Which split; null: the only one of the file.")
    error: CountsAs | None = Field(
        None,
        description="What a failed request counts as; null: an error. `score` needs no `scenario_state.json`.",
    )
    unscored: NoScore | None = UNSCORED


class SweBenchImport(Readable):
    """Reports of SWE-bench. `repository` is a path: the instance's id up to its last hyphen."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "id", "metric": "resolved", "error": "error"}

    format: Literal["swe_bench"] = Field(description="Names this format.")
    error: NotResolved | None = Field(
        None, description="What an instance with an error counts as; null: an error."
    )
    incomplete: NotResolved | None = Field(
        None, description="What an incomplete one counts as; null: refused."
    )
    empty_patch: NotResolved | None = Field(None, description="What an empty patch counts as; null: refused.")
    infra_failure: NotResolved | None = Field(
        None, description="What a failure of the infrastructure counts as; null: refused."
    )
    ambiguous_failure: NotResolved | None = Field(
        None, description="What an ambiguous failure counts as; null: refused."
    )


class MlflowImport(Readable):
    """Evaluation runs of MLflow: `runs/get` and the pages of `traces/search`. Paths begin at the trace."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "inputs", "error": "error", "grader_failed": "error", "unscored": "missing"
    }  # fmt: skip

    format: Literal["mlflow"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Name of the assessment.")
    source: Literal["CODE", "LLM_JUDGE", "HUMAN"] | None = Field(
        None, description="Whose assessment counts where there are several of the name; null: refused."
    )
    error: NoScore | None = Field(None, description="What a failed prediction counts as; null: an error.")
    grader_failed: NoScore | None = Field(None, description="What a failed scorer counts as; null: an error.")
    unscored: NoScore | None = UNSCORED
    partial: Literal["take"] | None = PARTIAL


class UnreadImport(StrictRecord):
    """A section of a plan that was locked before files were read by it. No new plan locks with it."""

    format: Token = Field(description="Name of the format.")
    scorer: Line | None = Field(None, description="Which scorer's values are read.")
    cluster_key: Line | None = Field(None, description="Field that holds the cluster.")


FORMATS: Mapping[str, type[Readable]] = {
    "inspect": InspectImport,
    "lm_eval": LmEvalImport,
    "promptfoo": PromptfooImport,
    "deepeval": DeepEvalImport,
    "openai_evals": OpenAIEvalsImport,
    "helm": HelmImport,
    "swe_bench": SweBenchImport,
    "mlflow": MlflowImport,
    **trackers.FORMATS,
    "csv": TableImport,
    "ndjson": TableImport,
    "parquet": TableImport,
}
"""Formats that are read, by the name that plans give them."""
_UNREAD = frozenset(UnreadImport.model_fields)


def _tag(value: Any) -> str | None:
    """Say which record a section is: the one of its format, or what older plans may hold."""
    if isinstance(value, StrictRecord):
        return "unread" if isinstance(value, UnreadImport) else _tag_of(getattr(value, "format", ""))
    if not isinstance(value, dict) or not isinstance(value.get("format"), str):
        return None
    known = FORMATS.get(value["format"])
    # A section that has only fields of the older shape, one of which its format does not know, was locked before files
    # were read by it. One with any other field is of its format, whose faults are then told field by field.
    if known is not None and (known.model_fields.keys() >= value.keys() or not value.keys() <= _UNREAD):
        return _tag_of(value["format"])
    return "unread" if value.keys() <= _UNREAD else None


def _tag_of(name: str) -> str:
    return "table" if FORMATS[name] is TableImport else name


ImportMapping = Annotated[
    Annotated[InspectImport, Tag("inspect")]
    | Annotated[LmEvalImport, Tag("lm_eval")]
    | Annotated[PromptfooImport, Tag("promptfoo")]
    | Annotated[DeepEvalImport, Tag("deepeval")]
    | Annotated[OpenAIEvalsImport, Tag("openai_evals")]
    | Annotated[HelmImport, Tag("helm")]
    | Annotated[SweBenchImport, Tag("swe_bench")]
    | Annotated[MlflowImport, Tag("mlflow")]
    | trackers.TrackerImport
    | Annotated[TableImport, Tag("table")]
    | Annotated[UnreadImport, Tag("unread")],
    Discriminator(
        _tag,
        custom_error_type="import_format",
        custom_error_message="`format` must be one of " + ", ".join(FORMATS),
    ),
]
"""How result files of one format are read."""
