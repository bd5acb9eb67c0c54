"""Details and results of LightEval: `Pipeline` over a task of its own with a model of its own, nothing from a hub.

With xxhash below 4, and an empty `tinyBenchmarks.pkl` beside its tasks, which it would fetch otherwise.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", HF_HOME=tempfile.mkdtemp())
from huggingface_hub import HfApi
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.custom.custom_model import CustomModelConfig
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

from tests.ingest.making import behaviour as b

TASK = """
from lighteval.metrics.metrics import Metrics
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod
from tests.ingest.making import behaviour as b


class Digits(SampleLevelComputation):
    def compute(self, model_response, doc, **kwargs):
        return b.digits(model_response.text[0], doc.specific["index"])


class Exact(SampleLevelComputation):
    def compute(self, model_response, doc, **kwargs):
        return b.exact(model_response.text[0], doc.specific["index"])


def mean(values):
    return sum(values) / len(values)


def metric(name, of):
    return SampleLevelMetric(
        metric_name=name, higher_is_better=True, category=SamplingMethod.GENERATIVE, sample_level_fn=of(),
        corpus_level_fn=mean,
    )


def prompt(line, task_name=None):
    return Doc(
        task_name=task_name, query=line["question"], choices=[line["answer"]], gold_index=0,
        specific={"item_id": line["item_id"], "topic": line["topic"], "index": line["index"]},
    )


TASKS_TABLE = [
    LightevalTaskConfig(
        name="products", prompt_function=prompt, hf_repo=REPO, hf_subset="default", hf_avail_splits=["test"],
        evaluation_splits=["test"], few_shots_split=None, few_shots_select=None, generation_size=16,
        metrics=[metric("exact", Exact), metric("digits", Digits)], stop_sequence=None, version=3,
    )
]
"""
MODEL = """
from lighteval.models.abstract_model import LightevalModel
from lighteval.models.model_output import ModelResponse
from lighteval.utils.cache_management import SampleCache
from tests.ingest.making import behaviour as b


class Mock(LightevalModel):
    def __init__(self, config):
        self.config = config
        self._cache = SampleCache(config)

    @property
    def tokenizer(self):
        return None

    @property
    def add_special_tokens(self):
        return False

    @property
    def max_length(self):
        return 2048

    def greedy_until(self, docs):
        arm = self.config.model_name.rpartition("/")[2]
        return [
            ModelResponse(
                input=doc.query, text=[b.reply(arm, doc.specific["index"])], input_tokens=[1], output_tokens=[[1]]
            )
            for doc in docs
        ]

    def loglikelihood(self, docs):
        raise NotImplementedError

    def loglikelihood_rolling(self, docs):
        raise NotImplementedError
"""


def main(out: Path) -> None:
    HfApi.list_models = lambda *_args, **_more: iter(())  # no hub is asked which model this is
    out.mkdir(parents=True, exist_ok=True)
    truth = b.Truth()
    for arm in b.ARMS:
        scratch = Path(tempfile.mkdtemp())
        data = scratch / "data"
        data.mkdir()
        lines = [
            {
                "item_id": b.item_id(index), "question": b.question(index), "answer": b.answer(index),
                "topic": b.cluster(index), "index": index,
            }
            for index in b.asked(arm)
        ]  # fmt: skip
        (data / "test.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        (scratch / "task.py").write_text(TASK.replace("REPO", repr(str(data))), "utf-8")
        (scratch / "model.py").write_text(MODEL, "utf-8")
        tracker = EvaluationTracker(output_dir=str(scratch / "out"), save_details=True)
        pipeline = Pipeline(
            tasks="products|0",
            pipeline_parameters=PipelineParameters(
                launcher_type=ParallelismManager.CUSTOM, custom_tasks_directory=str(scratch / "task.py")
            ),
            evaluation_tracker=tracker,
            model_config=CustomModelConfig(
                model_name=f"acme/{arm}", model_definition_file_path=str(scratch / "model.py")
            ),
        )
        pipeline.evaluate()
        pipeline.save_and_push_results()
        for path in sorted((scratch / "out").rglob("*")):
            if path.suffix == ".json":
                text = path.read_text("utf-8").replace(str(scratch), "scratch")
                (out / arm).mkdir(exist_ok=True)
                (out / arm / path.name).write_text(text, "utf-8")
            elif path.suffix == ".parquet":
                (out / arm).mkdir(exist_ok=True)
                shutil.copy(path, out / arm / path.name.replace("|", "_"))  # no name everywhere
        for index in b.INDICES:
            for endpoint in ("exact", "digits"):
                if index not in b.asked(arm):
                    truth.add(f"{arm}/details", arm, endpoint, index, None, "missing", note="not in the file")
                    continue
                of = b.exact if endpoint == "exact" else b.digits
                truth.add(f"{arm}/details", arm, endpoint, index, of(b.reply(arm, index), index))
    truth.write(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
