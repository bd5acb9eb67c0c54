"""Records and rows of Every Eval Ever, made by its own converter from runs of lm-evaluation-harness.

`python -m tests.ingest.making.every_eval_ever_files OUT`; the runs are those beside, whose mock model gets a name that
the converter takes for a model's.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.ingest.making import behaviour as b

RUNS = Path("tests/ingest/files/lm-eval/0.4.13")


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for arm in b.ARMS:
        scratch = Path(tempfile.mkdtemp())
        shutil.copytree(RUNS / f"choice_{arm}", scratch / "run")
        (results,) = (scratch / "run").glob("results_*.json")
        told = json.loads(results.read_text("utf-8"))
        told["model_name"] = f"acme/{arm}"
        told["config"] |= {"model": "hf", "model_args": {"pretrained": f"acme/{arm}"}}
        results.write_text(json.dumps(told), "utf-8")
        command = [
            str(Path(sys.executable).parent / "every_eval_ever"), "convert", "lm_eval", "--include_samples",
            "--log_path", "run", "--output_dir", "out", "--source_organization_name", "acme",
            "--evaluator_relationship", "first_party", "--eval_library_name", "lm_eval",
            "--eval_library_version", "0.4.13",
        ]  # fmt: skip
        subprocess.run(command, cwd=scratch, check=True)
        for path in (scratch / "out").rglob("*.json*"):
            suffix = "_samples.jsonl" if path.suffix == ".jsonl" else ".json"
            shutil.copy(path, out / f"{arm}{suffix}")
        names = {}
        (samples,) = (scratch / "run").glob("samples_*.jsonl")
        for line in samples.read_text("utf-8").splitlines():
            sample = json.loads(line)
            names[sample["doc"]["id"]] = str(sample["doc_id"])
        with (RUNS / "truth.csv").open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                if row["file"].startswith(f"choice_{arm}/") and row["item_id"] in names:
                    metric = row["endpoint"].partition(",")[0]
                    place = [f"{arm}_samples.jsonl", arm, metric, names[row["item_id"]], 1, ""]
                    rows.append([*place, row["value"], row["status"], ""])
    with (out / "truth.csv").open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(b.HEADER)
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
