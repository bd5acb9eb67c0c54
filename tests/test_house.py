"""The rules of the house that a linter can read: who imports whom, how long, how described."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.stats.shared.declaring import registry

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("service", "client/forelock", "tools")
LONGEST = 500

PLANTS = {
    "Imports point downward, and tools do not know one another": {
        "service/domain/plans/planted.py": "from service.store.database import engine",
        "service/store/planted.py": "import service.ingest",
        "service/kernels/planted.py": "from service.stats import common",
    },
    "The client knows nothing of the service": {"client/forelock/planted.py": "import service.errors"},
    "The runner does not import the API, nor the API the runner": {
        "service/jobs/planted.py": "import service.api.http.problems"
    },
    "Rooms of the domain stand on eight floors": {
        "service/domain/rules/planted.py": "import service.domain.verdicts.judge",
        "service/domain/notes/planted.py": "import service.domain.lint.lint",
    },
    "Rooms of the API point downward": {
        "service/api/parsing/planted.py": "import service.api.http.requests.body"
    },
    "No circle between files or rooms": {
        "service/domain/rules/planted.py": "import service.domain.verdicts.judge",
    },
    "Tools stay out of what is shipped": {"service/actions/planted.py": "import tools.openapi"},
    "Families of statistical tests do not know one another": {
        "service/stats/planted.py": "from service.stats.mcnemar import mcnemar"
    },
    "Settings are read by the doors and passed down": {
        "service/actions/planted.py": "from service.config import Settings"
    },
    "FastAPI only in the API and the pages": {"service/actions/planted.py": "import fastapi"},
    "SQL only in the store": {"service/domain/plans/planted.py": "import sqlalchemy"},
    "Database drivers and migrations only in the store": {"service/jobs/planted.py": "import psycopg"},
    "Outgoing HTTP only from publish and the client": {"service/actions/planted.py": "import httpx"},
    "Object storage only in objects": {"service/operation/planted.py": "import obstore"},
    "OpenTelemetry only in traces": {"service/jobs/planted.py": "import opentelemetry.trace"},
    "Dask only in the runner": {"service/api/http/planted.py": "import distributed"},
    "Kernels need numpy and scipy only": {"service/kernels/planted.py": "import pydantic"},
}
"""Contract (the beginning of its name) to files that break it, and the line that does."""


def modules(*packages: str) -> list[Path]:
    """Every Python file below the packages."""
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def tree(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def imports(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every import below the node: the module, and the names taken from it."""
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, ()) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield child.module, tuple(alias.name for alias in child.names)


def calls(path: Path, kind: type[ast.Name | ast.Attribute]) -> Iterator[ast.Call]:
    """Every call of a plain name, or of an attribute."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, kind):
            yield node


def called(call: ast.Call) -> str:
    """What is called: the name, or the attribute's."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def name(path: Path) -> str:
    """The path from the checkout, as the assertion prints it."""
    return str(path.relative_to(ROOT))


ORDINARY = {
    "agreement", "cumulative-effect", "describe", "effect-size", "equivalence", "power", "preference", "proportions",
    "repeated", "sample-size", "sequential", "suite", "type-one-error",
}  # fmt: skip
"""Names of statistical tests that are also words for something else: a claim, a stopping rule, a set of tasks."""


def registered_tests() -> tuple[set[str], set[str]]:
    """The names in the register, and the modules that register them."""
    tests = list(registry.every())
    return {test.name for test in tests}, {test.compute.__module__ for test in tests}


def docstrings(root: ast.Module) -> set[int]:
    """The ids of the string nodes that only explain."""
    return {
        id(node.value)
        for node in ast.walk(root)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def named_tests(root: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines of a module that know a statistical test by name, and what they say."""
    names, families = registered_tests()
    own = names - ORDINARY
    forms = {form for each in own for form in (each, each.replace("-", "_"), each.title().replace("-", ""))}
    said = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(forms)))})(?![\w-])")
    silent = docstrings(root)
    for node in ast.walk(root):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            if found := said.search(node.value):
                yield line, found[0]
        elif isinstance(node, ast.Name | ast.Attribute | ast.arg | ast.keyword):
            word = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
            if word in forms:
                yield line, str(word)
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).endswith((".test", ".name")):
            # an ordinary word is a test's name where a test is asked for it
            yield from ((line, each) for each in strings(node) if each in names)
        elif isinstance(node, ast.Call) and called(node) == "find":
            yield from ((line, each) for each in strings(node) if each in names)
    for module, taken in imports(root):
        yield from ((0, each) for each in (module, *(f"{module}.{one}" for one in taken)) if each in families)


def strings(node: ast.AST) -> Iterator[str]:
    """Every string below the node."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def lint_imports(directory: Path) -> str:
    """Run import-linter on a copy of the house."""
    command = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run(
        [str(command), "--no-cache"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(directory), str(directory / "client")])},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sources and contracts, free to be spoiled."""
    directory = tmp_path_factory.mktemp("house")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, directory / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory


def contracts(report: str) -> dict[str, str]:
    """Contract to KEPT or BROKEN."""
    return {
        found[1]: found[2] for found in re.finditer(r"^(.+) (KEPT|BROKEN)(?: .*)?$", report, re.MULTILINE)
    }


def test_every_contract_about_imports_is_kept_and_catches_a_violation(copy: Path) -> None:
    before = contracts(lint_imports(copy))
    assert set(before.values()) == {"KEPT"}
    assert len(before) == len(PLANTS)
    planted: dict[str, list[str]] = {}
    for files in PLANTS.values():
        for file, line in files.items():
            planted.setdefault(file, []).append(line)
    for file, lines in planted.items():
        (copy / file).write_text("\n".join(lines) + "\n")
    report = lint_imports(copy)
    after = contracts(report)
    for contract, files in PLANTS.items():
        (verdict,) = [result for title, result in after.items() if title.startswith(contract)]
        assert verdict == "BROKEN", contract
        section = report.split(f"\n{next(t for t in after if t.startswith(contract))}\n---")[1]
        for file, line in files.items():
            module = file.removeprefix("client/").removesuffix(".py").replace("/", ".")
            room = module.split(".")[-2]  # of a circle, the siblings in it are named
            names = rf"(?:{re.escape(module)}|\.{room})"
            assert re.search(rf"^\s*-?\s*{names} -> ", section, re.MULTILINE), (contract, line)


def test_a_module_is_short_enough_to_have_one_subject() -> None:
    lengths = {
        name(path): path.read_text("utf-8").count("\n")
        for path in modules("service", "client", "tests", "tools", "examples", "migrations", "benchmarks")
    }
    long = {path: lines for path, lines in lengths.items() if lines > LONGEST}
    assert not long, f"past {LONGEST} lines there is a second subject in it"


def test_a_module_with_code_says_what_it_is() -> None:
    silent = [
        name(path)
        for path in modules(*PACKAGES)
        if not path.read_text("utf-8").startswith('"""')
        if (root := tree(path)).body and not ast.get_docstring(root)
    ]
    assert not silent, "begin with a docstring of one sentence"


def test_scipy_stats_and_optimize_are_imported_where_used() -> None:
    """They take a second together: a start of the service must not pay it."""
    early = [
        f"{name(path)}:{node.lineno}"
        for path in modules("service")
        if "scipy" in path.read_text("utf-8")
        for node in tree(path).body
        for module, names in imports(node)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any(re.match(r"scipy\.(stats|optimize)\b", f"{module}.{part}") for part in names or ("",))
    ]
    assert not early, "import it inside the function that needs it"


def test_the_service_logs_and_never_prints() -> None:
    printed = [
        f"{name(path)}:{call.lineno}"
        for path in modules("service")
        if "print(" in path.read_text("utf-8")
        for call in calls(path, ast.Name)
        if called(call) == "print"
    ]
    assert not printed, "use a logger"


def test_what_tests_share_stands_in_a_module_of_its_own() -> None:
    """A file of tests that another imports cannot be split, renamed or run alone without a look at the other."""
    shared = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports tests: move what both need to a module beside them"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if re.search(r"import\b.*\btest_|\btest_\w+ import\b", path.read_text("utf-8"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("tests."))
        if any(
            part.startswith("test_")
            for part in [*(node.module or "").split("."), *(a.name for a in node.names)]
        )
    ]
    assert shared == []


def test_outside_the_store_sqlalchemy_is_the_session_type() -> None:
    more = [
        f"{name(path)}: {module} {names}"
        for path in modules("service/actions", "service/api", "service/web", "service/jobs")
        if "sqlalchemy" in path.read_text("utf-8")
        for module, names in imports(tree(path))
        if module.split(".")[0] == "sqlalchemy" and (module, set(names)) != ("sqlalchemy.orm", {"Session"})
    ]
    assert not more, "queries and the database's errors belong into the store"


def test_kernels_import_numpy_scipy_and_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "scipy", "typing_extensions"}  # the last has override
    others = [
        f"{name(path)}: {module}"
        for path in modules("service/kernels")
        for module, _ in imports(tree(path))
        if module.split(".")[0] not in allowed
        and not module.startswith("service.kernels")
        and module != "service.errors"
    ]
    assert not others, "a kernel takes arrays and gives arrays"


def test_actions_leave_the_transaction_to_the_door() -> None:
    ended = [
        f"{name(path)}:{call.lineno}"
        for path in modules("service/actions")
        for call in calls(path, ast.Attribute)
        if called(call) in ("commit", "rollback")
    ]
    assert not ended, "the door owns the transaction"


def test_do_is_posix_shell_and_explains_itself(tmp_path: Path) -> None:
    subprocess.run(["sh", "-n", str(ROOT / "do")], check=True)
    ran = subprocess.run([str(ROOT / "do"), "nonsense"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.startswith("usage: ./do COMMAND")
    for command in ("demo", "serve", "test", "check", "openapi", "pages", "new-test", "migrate", "forelock"):
        assert re.search(rf"^  {command}\b", ran.stderr, re.MULTILINE), command


def test_scripts_can_be_run() -> None:
    for script in ("do", ".ci/run", "tests/image/build.sh"):
        assert os.access(ROOT / script, os.X_OK), f"{script} lost its run bit"


def test_no_module_outside_stats_and_kernels_knows_a_statistical_test_by_name() -> None:
    known = [
        f"{name(path)}:{line}: {what}"
        for path in modules("service")
        if path.parts[len(ROOT.parts) + 1] not in ("stats", "kernels")
        and "service/api/examples" not in path.as_posix()
        for line, what in named_tests(tree(path))
    ]
    assert not known, "declare what is asked of a test beside the test, in its PlanUse"


@pytest.mark.parametrize(
    "line",
    [
        "from service.stats.mcnemar import min_attainable_p",
        "from service.stats import t_test",
        "FIELDS = {'paired-bootstrap': 1}",
        "mann_whitney = 1\nprint(mann_whitney)",
        "known = use.test.name == 'equivalence'",
        "known = use.test in ('power', 'sequential')",
        "found = registry.find('power', 1)",
        "said = 'write `wilcoxon.p_value < 0.05`'",
    ],
)
def test_a_statistical_test_that_is_known_by_name_is_seen(line: str) -> None:
    assert list(named_tests(ast.parse(line)))


def test_words_that_are_no_names_are_not_taken_for_them() -> None:
    said = "claim = 'equivalence'\npower = 0.8\nkind = {'power': power}\n'mcnemar explains'\nwords = 'pas-de-deux'"
    assert not list(named_tests(ast.parse(said)))
    assert registered_tests()[0] >= ORDINARY
