"""A job of Harbor, in an environment of its own that runs nothing: `result.json` of the job and of every trial."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig

from tests.ingest.making import behaviour as b

HERE = "tests.ingest.making.harbor_files"
ARM = {"now": ""}


class MockAgent(BaseAgent):
    """Answers nothing; its run of one task raises."""

    @staticmethod
    def name():
        return "mock"

    def version(self):
        return "1.0"

    async def setup(self, environment):
        pass

    async def run(self, instruction, environment, context):
        if b.crashes(ARM["now"], int(instruction.split()[0])):
            raise RuntimeError("the provider answered 529")


class MockEnvironment(BaseEnvironment):
    """Takes what it is given, and has the rewards where the verifier looks for them."""

    @staticmethod
    def type():
        return "mock"

    @property
    def capabilities(self):
        return EnvironmentCapabilities()

    def _validate_definition(self):
        pass

    async def start(self, force_build):
        pass

    async def stop(self, delete):
        pass

    async def upload_file(self, source_path, target_path):
        pass

    async def upload_dir(self, source_dir, target_dir):
        pass

    async def download_file(self, source_path, target_path):
        pass

    async def download_dir(self, source_dir, target_dir):
        if "verifier" not in str(source_dir):
            return
        index = int(Path(self.environment_dir).parent.name.partition("-")[2])
        if b.grader_crashes(ARM["now"], index):
            return
        text = b.reply(ARM["now"], index)
        rewards = {"exact": int(b.exact(text, index)), "digits": b.digits(text, index)}
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        (Path(target_dir) / "reward.json").write_text(json.dumps(rewards))

    async def exec(self, command, *_, **__):
        return ExecResult(stdout="/app", stderr="", return_code=0)


def tasks(folder: Path, arm: str) -> list[Path]:
    made = []
    for index in b.asked(arm):
        task = folder / f"item-{index:03d}"
        (task / "environment").mkdir(parents=True)
        (task / "tests").mkdir()
        (task / "environment" / "Dockerfile").write_text("FROM scratch\n")
        (task / "tests" / "test.sh").write_text("#!/bin/sh\n")
        (task / "instruction.md").write_text(f"{index} {b.question(index)}\n")
        (task / "task.toml").write_text(f'version = "1.0"\n[metadata]\ntopic = "{b.cluster(index)}"\n')
        made.append(task)
    return made


def main(out: Path) -> None:
    truth = b.Truth()
    for arm in b.ARMS:
        ARM["now"] = arm
        scratch = Path(tempfile.mkdtemp())
        config = JobConfig(
            job_name=arm,
            jobs_dir=scratch / "jobs",
            quiet=True,
            n_concurrent_trials=1,
            environment=EnvironmentConfig(import_path=f"{HERE}:MockEnvironment"),
            agents=[AgentConfig(import_path=f"{HERE}:MockAgent", model_name=f"acme/{arm}")],
            tasks=[TaskConfig(path=path, source="products") for path in tasks(scratch / "tasks", arm)],
        )

        async def run(config=config):
            job = await Job.create(config)
            await job.run()

        asyncio.run(run())
        for path in sorted((scratch / "jobs" / arm).rglob("result.json")):
            place = out / arm / path.relative_to(scratch / "jobs" / arm)
            place.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text("utf-8").replace(str(scratch), "scratch")
            place.write_text(b.without_paths(text), "utf-8")
        for index in b.asked(arm):
            failed = b.crashes(arm, index) or b.grader_crashes(arm, index)
            text = b.reply(arm, index)
            for endpoint, value in (("exact", b.exact(text, index)), ("digits", b.digits(text, index))):
                shown = "" if failed else repr(float(value))
                status = "error" if failed else "ok"
                truth.rows.append((arm, arm, endpoint, f"item-{index:03d}", 1, "", shown, status, ""))
        shutil.rmtree(scratch)
    truth.write(out)


if __name__ == "__main__":
    sys.modules[HERE] = sys.modules["__main__"]
    main(Path(sys.argv[1]))
