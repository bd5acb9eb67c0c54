"""The plan's `import` section: how result files of a harness become rows. Locked, so it is not chosen afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from service.domain.plans.strings import Line, Token
from service.records import StrictRecord
from service.stats.shared.declaring.common import Finite

CountsAs = Literal["error", "missing", "score"]
"""What a sample counts as whose score something stands beside: a row of that status, or its score all the same."""
NoScore = Literal["error", "missing"]
NotResolved = Literal["error", "missing", "failure"]
Values = Annotated[dict[Line, Finite | NoScore], Field(min_length=1, max_length=200)]

_ERROR = Field(
    None,
    description="What a sample with an error counts as; null: an error, and refused where it has a score.",
)
_GRADER = Field(None, description="What a failed grader counts as; null: refused.")
_UNSCORED = Field(None, description="What a sample without a score counts as; null: `missing`.")
_PARTIAL = Field(None, description="`take` reads a run that did not finish; null: it is refused.")


class Measure(StrictRecord):
    """Where the values of one endpoint stand, where it is not the one above."""

    scorer: Line | None = Field(
        None, description="Which scorer's values are read; `scorer.key` for one of several."
    )
    metric: Line | None = Field(None, description="Which metric's values are read.")
    filter: Line | None = Field(None, description="Which of the filters.")
    values: Values | None = Field(None, description="What a value counts as, by its text.")


class _Mapping(StrictRecord):
    """What all formats share."""

    NEEDS: ClassVar[tuple[str, ...]] = ()
    """Fields without which nothing can be read."""
    DEFAULTS: ClassVar[Mapping[str, str]] = {}
    """What is read where the plan names no place, and what counts as what where it says nothing."""
    VALUES: ClassVar[Mapping[str, float]] = {"true": 1.0, "false": 0.0}
    """What values count as that the harness itself defines."""
    INTEGER_IDS: ClassVar[bool] = True
    """Ids that are numbers in the file are read as their digits."""

    BOOKKEEPING: ClassVar[tuple[str, ...]] = ()
    """How names of statistics begin that are of the requests, and of no use as a measure of the answers."""

    SCORED_ERRORS: ClassVar[bool] = False
    """A score may stand beside an error, so that the plan has to say which counts."""

    format: str = Field(description="Names this format.")
    endpoint: Token | None = Field(
        None, description="Which endpoint the values are of; null: the only primary one."
    )
    endpoints: dict[Token, Measure] | None = Field(
        None, min_length=1, max_length=200, description="Where the values of further endpoints stand."
    )
    arm: Line | None = Field(
        None, description="Where the file says which arm it is, as a path; null: whoever imports says it."
    )
    arms: dict[Line, Token] | None = Field(
        None, min_length=1, max_length=200, description="The plan's arm for each name that the files use."
    )
    item_id: Line | None = Field(
        None,
        description="Where the item's id stands, as a path; an object, or `sha256:path`, is hashed. "
        "Null: the format's own.",
    )
    cluster: Line | None = Field(
        None,
        description="Where the cluster stands, as a path; it must be the manifest's. Null: it is not compared.",
    )
    replicate: Line | None = Field(
        None,
        description="Where the replicate stands, counted from 1; `order`: the rows of one item as they follow each "
        "other. Null: the format's own.",
    )
    observed_at: Line | None = Field(
        None,
        description="Where the time of the answer stands, as RFC 3339 with its offset; null: no time is kept.",
    )
    values: Values | None = Field(
        None, description="What a value counts as, by its text: a number, `missing` or `error`."
    )
    unknown_items: Literal["leave_out"] | None = Field(
        None, description="`leave_out` drops items that the manifest does not have; null: they are refused."
    )

    def counts_as(self, event: str) -> str | None:
        """What the plan, or else the format, says that an event counts as; None: it has to be said."""
        said: str | None = getattr(self, event, None)
        return said if said is not None else self.DEFAULTS.get(event)

    def place(self, name: str) -> str | None:
        """The path of `item_id`, `cluster`, `replicate`, `arm` or `observed_at`."""
        return self.counts_as(name)

    def paths(self) -> list[str]:
        """Where an import looks in every sample."""
        places = [self.place(name) for name in ("item_id", "cluster", "replicate", "arm", "observed_at")]
        return [path for path in places if path is not None]

    def measures(self) -> Iterator[tuple[str | None, str, Measure]]:
        """Every endpoint that is read, None for the one that goes unnamed; where it is said; and from where."""
        first = {name: getattr(self, name, None) for name in Measure.model_fields}
        if any(value is not None for value in first.values()) or not self.NEEDS or not self.endpoints:
            yield self.endpoint, "import", Measure(**first)
        for endpoint, measure in (self.endpoints or {}).items():
            yield endpoint, f"import.endpoints.{endpoint}", measure

    def key(self, measure: Measure) -> str:
        """What the reader of the format calls these values."""
        return measure.scorer or measure.metric or self.DEFAULTS.get("metric", "")


class InspectImport(_Mapping):
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
    error: CountsAs | None = _ERROR
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
    unscored: NoScore | None = _UNSCORED
    partial: Literal["take"] | None = _PARTIAL

    def place(self, name: str) -> str | None:
        """The path, or the metadata's key for clusters."""
        if name == "cluster" and self.cluster is None and self.cluster_key is not None:
            return f"metadata.{self.cluster_key}"
        return super().place(name)


class LmEvalImport(_Mapping):
    """Samples of lm-evaluation-harness. Paths begin at the line; the arm's at the results file's `config`."""

    NEEDS = ("metric", "filter")
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "doc_hash", "unscored": "missing"}

    format: Literal["lm_eval"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Which metric's values are read.")
    filter: Line | None = Field(None, description="Which of the filters; `none` where the task has none.")
    unscored: NoScore | None = _UNSCORED
    partial: Literal["take"] | None = _PARTIAL

    def key(self, measure: Measure) -> str:
        """Metric and filter, as the results file writes them."""
        return f"{measure.metric},{measure.filter}"


class PromptfooImport(_Mapping):
    """Results of promptfoo, JSON, JSON lines or CSV. Paths begin at the result, the arm's too."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "vars", "error": "error", "unscored": "missing"}

    format: Literal["promptfoo"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="`score`, `success`, or a named score.")
    error: CountsAs | None = _ERROR
    grader_failed: CountsAs | None = _GRADER
    unscored: NoScore | None = _UNSCORED
    rounded: Literal["take"] | None = Field(
        None,
        description="`take` reads scores that CSV rounds to two digits; null: those other than 0 and 1 are refused.",
    )


class DeepEvalImport(_Mapping):
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
    unscored: NoScore | None = _UNSCORED


class OpenAIEvalsImport(_Mapping):
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
    unscored: NoScore | None = _UNSCORED
    partial: Literal["take"] | None = _PARTIAL


class HelmImport(_Mapping):
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
    unscored: NoScore | None = _UNSCORED


class SweBenchImport(_Mapping):
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


class MlflowImport(_Mapping):
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
    unscored: NoScore | None = _UNSCORED
    partial: Literal["take"] | None = _PARTIAL


class TableImport(_Mapping):
    """Rows of any origin: CSV, NDJSON or Parquet. Paths name columns, the arm's too."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "item_id", "metric": "value", "unscored": "missing"}
    VALUES: ClassVar[Mapping[str, float]] = {}
    INTEGER_IDS: ClassVar[bool] = False

    format: Literal["csv", "ndjson", "parquet"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Column of the values; null: `value`.")
    status: Line | None = Field(
        None, description="Column that says `ok`, `error` or `missing`; null: there is none."
    )
    integer_ids: Literal["text"] | None = Field(
        None, description="`text` reads ids that are numbers as their digits; null: they are refused."
    )
    unscored: NoScore | None = Field(None, description="What a row without value counts as; null: `missing`.")


class UnreadImport(StrictRecord):
    """A section of a plan that was locked before files were read by it. No new plan locks with it."""

    format: Token = Field(description="Name of the format.")
    scorer: Line | None = Field(None, description="Which scorer's values are read.")
    cluster_key: Line | None = Field(None, description="Field that holds the cluster.")


FORMATS: Mapping[str, type[_Mapping]] = {
    "inspect": InspectImport,
    "lm_eval": LmEvalImport,
    "promptfoo": PromptfooImport,
    "deepeval": DeepEvalImport,
    "openai_evals": OpenAIEvalsImport,
    "helm": HelmImport,
    "swe_bench": SweBenchImport,
    "mlflow": MlflowImport,
    "csv": TableImport,
    "ndjson": TableImport,
    "parquet": TableImport,
}
"""Formats that are read, by the name that plans give them."""
_UNREAD = frozenset(UnreadImport.model_fields)


def _tag(value: Any) -> str | None:
    """Which record a section is: the one of its format, or what older plans may hold."""
    if isinstance(value, StrictRecord):
        return "unread" if isinstance(value, UnreadImport) else _tag_of(getattr(value, "format", ""))
    if not isinstance(value, dict) or not isinstance(value.get("format"), str):
        return None
    known = FORMATS.get(value["format"])
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
    | Annotated[TableImport, Tag("table")]
    | Annotated[UnreadImport, Tag("unread")],
    Discriminator(
        _tag,
        custom_error_type="import_format",
        custom_error_message="`format` must be one of " + ", ".join(FORMATS),
    ),
]
"""How result files of one format are read."""
Readable = _Mapping
"""Any mapping that files are read by."""
