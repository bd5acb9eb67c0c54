"""A judged score as the Hugging Face Hub reads it: an entry of `.eval_results`, or of a model card's `model-index`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from service.domain.plans.plan import Plan
from service.domain.verdicts.arm_summaries import ArmSummary
from service.domain.verdicts.records import HypothesisVerdict, Verdict

MEDIA_TYPE = "application/yaml"
SOURCE = "Forelock"


@dataclass(frozen=True, slots=True)
class Scored:
    """The candidate of a judged hypothesis, and its score on the items of the verdict."""

    plan: Plan
    verdict: Verdict
    hypothesis: HypothesisVerdict
    score: ArmSummary
    page: str | None
    """Where people see the record, if that is known."""

    @property
    def notes(self) -> str:
        """What a bare number leaves out."""
        score = self.score
        interval = (
            "" if score.low is None else f", {score.level:.0%} interval {score.low:.6g} to {score.high:.6g}"
        )
        marked = "".join(f"; {mark.says}" for mark in self.verdict.marks if mark.concerns(self.hypothesis.id))
        if (chosen := self.hypothesis.selection) is not None:
            marked += f"; chosen among {chosen.tried} variants tried on these items, so optimistic"
        return (
            f"{score.n} items{interval}; preregistered: {self.hypothesis.id} is "
            f"{self.hypothesis.outcome.replace('_', ' ')}{marked}; plan SHA-256 {self.verdict.plan_sha256}"
        )


def eval_results(scored: Scored, *, dataset: str, task: str) -> bytes:
    """Return the content of a file in `.eval_results/` of a model's repository.

    Args:
        scored: the score and what it is of.
        dataset: id of the benchmark's data set on the Hub, such as `cais/hle`.
        task: of that benchmark, such as `default`.
    """
    entry: dict[str, Any] = {
        "dataset": {"id": dataset, "task_id": task},
        "value": scored.score.mean,
        "date": scored.verdict.judged_at.date().isoformat(),
    }
    if scored.page is not None:
        entry["source"] = {"url": scored.page, "name": SOURCE}
    return _yaml([entry | {"notes": scored.notes}])


def model_index(scored: Scored, *, model: str, dataset: str, task: str) -> bytes:
    """Return the front matter of a model card: its member `model-index` with one result.

    Args:
        scored: the score and what it is of.
        model: what the card calls the model.
        dataset: id of the data set on the Hub.
        task: a task type of the Hub, such as `text-generation`.
    """
    endpoint = scored.hypothesis.endpoint
    result: dict[str, Any] = {
        "task": {"type": task},
        "dataset": {"type": dataset, "name": _population(scored)},
        "metrics": [{"type": endpoint, "name": f"{endpoint} ({scored.notes})", "value": scored.score.mean}],
    }
    if scored.page is not None:
        result["source"] = {"url": scored.page, "name": SOURCE}
    return _yaml({"model-index": [{"name": model, "results": [result]}]})


def _population(scored: Scored) -> str:
    """Return what the plan calls the data set."""
    datasets = {population.id: population.dataset for population in scored.plan.populations or ()}
    return datasets.get(scored.hypothesis.population) or scored.hypothesis.population


def _yaml(document: Any) -> bytes:
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=10_000)
    return text.encode()
