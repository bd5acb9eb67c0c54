"""The guards: triggers that keep rows from being rewritten. What stands is compared with what the migrations make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from sqlite3 import complete_statement

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

_TRIGGER = re.compile(r"CREATE TRIGGER (\w+) BEFORE \w+ ON (\w+)(?:[^';]|'[^']*')*;")
_DROPPED = re.compile(r"DROP TRIGGER (\w+);")
_FUNCTION = re.compile(
    r"^CREATE (?:OR REPLACE )?FUNCTION (\w+)\(\)[^$]*\$\$(.*?)\$\$;", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_FUNCTIONS = sa.text(
    "SELECT p.proname, p.prosrc, l.lanname = 'plpgsql' AND NOT p.prosecdef "
    "AND p.proconfig = ARRAY[format('search_path=%I, pg_temp', current_schema())] "
    "FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang "
    "WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'forelock\\_%'"
)
_TRIGGERS = sa.text(
    "SELECT c.relname, t.tgname, pg_get_triggerdef(t.oid, true), "
    "t.tgenabled = 'A' AND p.pronamespace = c.relnamespace "
    "FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
    "WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal"
)


def find_directory() -> Path:
    """Return where the migrations are: inside an installed package, or beside the package in a checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_migrations"
    return installed if installed.is_dir() else package.parent / "migrations"


def run_script(connection: Connection, revision: str) -> None:
    """Execute what a revision has in `migrations/sql` for this database."""
    script = (find_directory() / "sql" / f"{revision}_{connection.dialect.name}.sql").read_text("utf-8")
    if connection.dialect.name == "sqlite":
        for statement in _split_script(script):
            connection.exec_driver_sql(statement)
    else:
        # Without parameters psycopg sends the script whole, and leaves the % of its bodies alone.
        connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def find_faults(engine: Engine) -> list[str]:
    """Return what is not as the migrations made it: guards missing, switched off or changed, and triggers of others."""
    dialect = engine.dialect.name
    with engine.connect() as connection:
        standing = _read_sqlite(connection) if dialect == "sqlite" else _read_postgres(connection)
    wanted = list_expected(dialect)
    missing = [f"the {name} is missing" for name in wanted.keys() - standing.keys()]
    strange = [f"the {name} is none of the service's" for name in standing.keys() - wanted.keys()]
    common = wanted.keys() & standing.keys()
    changed = [f"the {name} is not as it was made" for name in common if wanted[name] != standing[name]]
    return sorted(missing + strange + changed)


@cache
def list_expected(dialect: str) -> Mapping[str, str]:
    """Return every guard, as `trigger TABLE.NAME` or `function NAME`, and its text after the last revision."""
    guards: dict[str, str] = {}
    # By revision, which file names begin with: a later script drops and makes anew what an earlier one made.
    for script in sorted((find_directory() / "sql").glob(f"*_{dialect}.sql")):
        text = script.read_text("utf-8")
        if dialect == "sqlite":
            for statement in (_COMMENT.sub("", statement).strip() for statement in _split_script(text)):
                _take_statement(guards, statement, statement.removesuffix(";"))
            continue
        guards |= {f"function {name}": body for name, body in _FUNCTION.findall(text)}
        for match in _TRIGGER.finditer(_COMMENT.sub("", _FUNCTION.sub("", text))):
            _take_statement(guards, match[0], _simplify(match[0]))
    return guards


def _take_statement(guards: dict[str, str], statement: str, text: str) -> None:
    """Take one statement of a script into `guards`: a trigger made is added under its name, one dropped goes."""
    if dropped := _DROPPED.match(statement):
        del guards[next(name for name in guards if name.endswith(f".{dropped[1]}"))]
    elif made := re.match(r"CREATE TRIGGER (\w+) BEFORE \w+ ON (\w+)", statement):
        guards[f"trigger {made[2]}.{made[1]}"] = text


def _read_sqlite(connection: Connection) -> dict[str, str]:
    triggers = connection.exec_driver_sql(
        "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'"
    )
    return {f"trigger {table}.{name}": text for table, name, text in triggers}


def _read_postgres(connection: Connection) -> dict[str, str]:
    functions = {
        f"function {name}": text if right else "" for name, text, right in connection.execute(_FUNCTIONS)
    }
    return functions | {
        f"trigger {table}.{name}": _simplify(text) if right else ""
        for table, name, text, right in connection.execute(_TRIGGERS)
    }


def _simplify(definition: str) -> str:
    """Return a trigger of Postgres without what the server writes as it likes: blanks, brackets, casts of literals.

    The conditions of our triggers join with OR alone, so brackets do not tell two of them apart.
    """
    text = definition.replace("FOR EACH STATEMENT", "").replace("::text", "")
    return re.sub(r"[\s();]", "", text.replace("NEW.", "new.").replace("OLD.", "old."))


def _split_script(script: str) -> Iterator[str]:
    """Yield the statements of a script for SQLite; the body of a trigger stays whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if complete_statement(statement):
            yield statement
            statement = ""
