"""Mappings of what trackers, libraries of evaluators and agents' harnesses write: scores by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Tag

from service.domain.plans.importing.mapping import ERROR, PARTIAL, UNSCORED, CountsAs, NoScore, Readable
from service.domain.plans.strings import Line

_FAILED_GRADER = Field(None, description="What a failed evaluator counts as; null: an error.")
_ERROR_WITHOUT_SCORE = Field(None, description="What a sample with an error counts as; null: an error.")


class _Scored(Readable):
    """A metric by its name; samples may fail, and so may what scores them."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "id", "error": "error", "grader_failed": "error", "unscored": "missing"
    }  # fmt: skip
    SCORED_ERRORS: ClassVar[bool] = True

    metric: Line | None = Field(None, description="Which metric's values are read, by the name in the file.")
    error: CountsAs | None = ERROR
    grader_failed: NoScore | None = _FAILED_GRADER
    unscored: NoScore | None = UNSCORED


class PydanticEvalsImport(_Scored):
    """Reports of pydantic-evals, JSON or YAML. Paths begin at the case, `case` is its name without the number of its
    repeat; the arm's at the report."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {**_Scored.DEFAULTS, "item_id": "case", "replicate": "repeat"}
    SCORED_ERRORS: ClassVar[bool] = False

    format: Literal["pydantic_evals"] = Field(description="Names this format.")
    error: NoScore | None = _ERROR_WITHOUT_SCORE


class RagasImport(Readable):
    """Frames of Ragas, CSV or JSON lines. Paths name columns, the arm's too."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "sha256:user_input", "unscored": "missing"}

    format: Literal["ragas"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Column of the metric.")
    grader_failed: NoScore | None = Field(
        None, description="What a row without the metric's value counts as; null: refused."
    )
    unscored: NoScore | None = UNSCORED


class LangSmithImport(_Scored):
    """Experiments of LangSmith: frames as CSV or JSON lines, or examples with their runs. Paths begin at the row:
    `inputs`, `reference`, `outputs`; the arm's too."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "example_id", "error": "error", "unscored": "missing"
    }  # fmt: skip
    VALUES: ClassVar[Mapping[str, float]] = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0}

    format: Literal["langsmith"] = Field(description="Names this format.")
    grader_failed: NoScore | None = Field(
        None, description="What an answer without this feedback counts as; null: refused."
    )
    several: Literal["mean"] | None = Field(
        None, description="`mean` takes the mean of several feedbacks of a name; null: refused."
    )


class BraintrustImport(_Scored):
    """Experiments of Braintrust: results with their summary, or events. Paths begin at the row, the arm's at the
    summary where there is one."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {**_Scored.DEFAULTS, "item_id": "sha256:input"}

    format: Literal["braintrust"] = Field(description="Names this format.")
    partial: Literal["take"] | None = PARTIAL


class OpikImport(_Scored):
    """Experiments of Opik: `opik export`, pages of its API, or test results. Paths begin at the item: `data` is its
    line of the data set; the arm's at the experiment where the file has it."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {**_Scored.DEFAULTS, "item_id": "dataset_item_id"}

    format: Literal["opik"] = Field(description="Names this format.")
    several: Literal["first", "last"] | None = Field(
        None, description="Which of several scores of a name counts; null: refused."
    )
    partial: Literal["take"] | None = PARTIAL


class PhoenixImport(_Scored):
    """Experiments of Arize Phoenix, as `GET /v1/experiments/ID/json` answers. Paths begin at the run, the arm's at the
    experiment where it is there."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {
        **_Scored.DEFAULTS, "item_id": "example_id", "replicate": "repetition_number"
    }  # fmt: skip

    format: Literal["phoenix"] = Field(description="Names this format.")
    source: Literal["CODE", "LLM", "HUMAN"] | None = Field(
        None, description="Whose annotation counts where there are several of the name; null: refused."
    )
    partial: Literal["take"] | None = PARTIAL


class WeaveImport(_Scored):
    """Evaluations of W&B Weave: calls, as `calls/stream_query` answers. Paths begin at the call of `predict_and_score`:
    `example` is its line of the data set; the arm's too, `model` is the model's."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {**_Scored.DEFAULTS, "item_id": "example"}

    format: Literal["weave"] = Field(description="Names this format.")
    partial: Literal["take"] | None = PARTIAL


class LangfuseImport(_Scored):
    """Experiments of Langfuse: pages of `experiment-items`. Paths begin at the item, the arm's too."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {**_Scored.DEFAULTS, "item_id": "experimentItemId"}
    VALUES: ClassVar[Mapping[str, float]] = {"true": 1.0, "false": 0.0, "True": 1.0, "False": 0.0}

    format: Literal["langfuse"] = Field(description="Names this format.")
    source: Literal["API", "EVAL", "ANNOTATION"] | None = Field(
        None, description="Whose score counts where there are several of the name; null: refused."
    )
    partial: Literal["take"] | None = PARTIAL


class OpenAIEvalRunsImport(_Scored):
    """Runs of the OpenAI Evals API: pages of `output_items`. Paths begin at the item: `datasource_item` is its line of
    the data; the arm's too."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {**_Scored.DEFAULTS, "item_id": "datasource_item_id"}

    format: Literal["openai_eval_runs"] = Field(description="Names this format.")
    several: Literal["first", "last"] | None = Field(
        None, description="Which of several results of a name counts; null: refused."
    )
    partial: Literal["take"] | None = PARTIAL


class LightEvalImport(Readable):
    """Details of LightEval, Parquet. Paths begin at the row: `doc`; the arm's at `config_general` of the results."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "sha256:doc.query", "unscored": "missing"}

    format: Literal["lighteval"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Which metric's values are read.")
    unscored: NoScore | None = UNSCORED


class EveryEvalEverImport(Readable):
    """Results in the format Every Eval Ever: rows of samples, and beside them the record of the run. Paths begin at the
    row, the arm's too."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "sample_id", "error": "error", "unscored": "missing"
    }  # fmt: skip
    SCORED_ERRORS: ClassVar[bool] = True

    format: Literal["every_eval_ever"] = Field(description="Names this format.")
    metric: Line | None = Field(
        None,
        description="The result's id or else its name; `NAME is_correct` reads whether the answer is right.",
    )
    error: CountsAs | None = ERROR
    unscored: NoScore | None = UNSCORED


class SweBenchExperimentsImport(Readable):
    """A submission to SWE-bench `experiments`: `per_instance_details.json` or `results.json`, and `metadata.yaml`.
    `repository` is a path: the instance's id up to its last hyphen."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "id", "metric": "resolved"}

    format: Literal["swe_bench_experiments"] = Field(description="Names this format.")
    no_generation: Literal["error", "missing", "failure"] | None = Field(
        None, description="What an instance counts as for which nothing was submitted; null: refused."
    )
    no_logs: Literal["error", "missing", "failure"] | None = Field(
        None, description="What an instance counts as that was submitted and has no log; null: refused."
    )


class HarborImport(Readable):
    """Jobs of Harbor and runs of terminal-bench. Paths begin at the trial, the arm's too."""

    NEEDS = ("metric",)
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        "item_id": "task", "replicate": "order", "error": "error", "unscored": "missing"
    }  # fmt: skip
    SCORED_ERRORS: ClassVar[bool] = True

    format: Literal["harbor"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Name of the reward, or `resolved` of terminal-bench.")
    error: Literal["error", "missing", "failure", "score"] | None = Field(
        None,
        description="What a trial with an exception or failure mode counts as; null: an error, and refused where it "
        "has a reward.",
    )
    unscored: NoScore | None = UNSCORED
    partial: Literal["take"] | None = PARTIAL


FORMATS: Mapping[str, type[Readable]] = {
    "pydantic_evals": PydanticEvalsImport,
    "ragas": RagasImport,
    "langsmith": LangSmithImport,
    "langfuse": LangfuseImport,
    "braintrust": BraintrustImport,
    "opik": OpikImport,
    "phoenix": PhoenixImport,
    "weave": WeaveImport,
    "openai_eval_runs": OpenAIEvalRunsImport,
    "lighteval": LightEvalImport,
    "every_eval_ever": EveryEvalEverImport,
    "swe_bench_experiments": SweBenchExperimentsImport,
    "harbor": HarborImport,
}
"""Those of this module, by the name that plans give them."""

TrackerImport = (
    Annotated[PydanticEvalsImport, Tag("pydantic_evals")]
    | Annotated[RagasImport, Tag("ragas")]
    | Annotated[LangSmithImport, Tag("langsmith")]
    | Annotated[LangfuseImport, Tag("langfuse")]
    | Annotated[BraintrustImport, Tag("braintrust")]
    | Annotated[OpikImport, Tag("opik")]
    | Annotated[PhoenixImport, Tag("phoenix")]
    | Annotated[WeaveImport, Tag("weave")]
    | Annotated[OpenAIEvalRunsImport, Tag("openai_eval_runs")]
    | Annotated[LightEvalImport, Tag("lighteval")]
    | Annotated[EveryEvalEverImport, Tag("every_eval_ever")]
    | Annotated[SweBenchExperimentsImport, Tag("swe_bench_experiments")]
    | Annotated[HarborImport, Tag("harbor")]
)
"""One of them."""
