"""Pages whose commands are run, and those that are run elsewhere."""

from __future__ import annotations

from tests.pages import ROOT

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "client/README.md",
    *sorted(
        str(each.relative_to(ROOT))
        for each in (ROOT / "docs").rglob("*.md")
        if each.parent.name not in ("words", "decisions") and each.name != "map.md"
    ),
]


ELSEWHERE = {
    "npm install": "an index of packages is elsewhere; tests/api/test_generated_clients.py runs the page",
    "npm pkg set": "is the same page's",
    "npx ": "is the same page's",
    "node mcnemar.js": "is the same page's",
    "pip install": "an index of packages is elsewhere",
    "createuser": "belongs to Postgres, and needs its superuser",
    "createdb": "belongs to Postgres, and needs its superuser",
    'export FORELOCK_DATABASE_URL="postgresql': "names a Postgres that belongs to the reader",
    "inspect eval": "belongs to Inspect, and asks a model; tests/hooks runs it with one of its own",
    "pytest --forelock-endpoint": "a suite of the reader's; tests/hooks/test_pytest.py runs one with these options",
    "curl --fail --request POST": "asks a code host; tests/client/test_ci_reports.py has what is sent",
    "forelock webhooks": "a receiver of the reader's, by TLS; tests/journeys/test_webhooks.py has one of its own",
    "forelock mlflow": "an MLflow of the reader's; tests/journeys/test_real_mlflow.py starts one",
    "forelock lock ID --mlflow-run": "an MLflow of the reader's; tests/journeys/test_real_mlflow.py starts one",
    "export MLFLOW_TRACKING_URI": "an MLflow of the reader's; tests/journeys/test_real_mlflow.py starts one",
    "forelock import ID --mlflow-run": "an MLflow of the reader's; tests/journeys/test_real_mlflow.py starts one",
    "forelock import --check plan.json --mlflow-run": "an MLflow of the reader's, likewise",
    "export LANGFUSE_PUBLIC_KEY": "a Langfuse of the reader's; tests/client/test_trackers.py has what it answers",
    "forelock import ID --from langfuse": "a Langfuse of the reader's, likewise",
    "forelock import --check plan.json --from phoenix": "a Phoenix of the reader's, likewise",
    "forelock stamps": "authorities and calendars are elsewhere; tests/journeys/test_witness.py has some of its own",
    "forelock ledger resume": "is refused unless a database was set back, as in tests/keyring/test_signer_state.py",
    "forelock mcp": "waits for an agent; tests/client/mcp_server/test_server.py is one",
    "forelock serve --data DIR": "runs until it is stopped; every session here has one that runs",
    "forelock rank swe-bench-pro.csv": "grades of others: the page says where they are, and their licences",
    "forelock gate alpaca-eval.csv": "grades of others, likewise",
    "forelock noise tau-bench-airline-gpt-4o.csv": "grades of others, likewise",
    "./do demo": "tests/examples/test_demo.py runs it, and verifies what it saves",
    "./do forelock verify verdict.zip": "tests/examples/test_demo.py runs the demo, and verifies what it saves",
    "./do test": "is what runs this",
    "./do check": "is what runs beside this",
    "./do uv lock": "an index of packages is elsewhere",
}
"""Commands of the pages, by how they begin, that cannot run here, and why; tests/test_page_sessions.py runs others."""
