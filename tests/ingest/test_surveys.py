"""Looking through a file before it is read: the short way for cells that stood in their columns before."""

from __future__ import annotations

import json
import random

import pytest

from forelock import cli
from forelock.import_files import FORMATS
from service.errors import ForelockError
from service.ingest import surveys
from service.ingest.sections import mapping_from
from service.ingest.tally import Tally
from tests.ingest.surveyed import survey_of

CELLS = ("0", "1", "0.5", "50%", "", "NA", "true", "nan", "inf", "1e400", "x" * 513, "äöü", "a.b", "7", " 1")


def rows_of(chance):
    names = ["item_id", "arm", "value", "note", "repo", "error", "Unnamed: 0"]
    few = [chance.sample(CELLS, chance.randint(1, 5)) for _ in names]
    return [dict(zip(names, map(chance.choice, few), strict=True)) for _ in range(chance.randint(1, 40))]


@pytest.mark.parametrize("seed", range(20))
def test_cells_that_stood_there_before_say_what_they_say_in_the_whole_look(tmp_path, monkeypatch, seed):
    rows = rows_of(random.Random(seed))
    comma, lines = tmp_path / "rows.csv", tmp_path / "rows.ndjson"
    comma.write_text("\n".join(",".join(row) for row in [rows[0], *(row.values() for row in rows)]) + "\n")
    lines.write_text(
        "".join(json.dumps(row | {"n": at % 3, "deep": {"a": "b"}}) + "\n" for at, row in enumerate(rows))
    )
    short = [survey_of(comma, "csv"), survey_of(lines, "ndjson")]
    monkeypatch.setattr(Tally, "_unknown_cells", lambda _tally, row: row)
    whole = [survey_of(comma, "csv"), survey_of(lines, "ndjson")]
    assert json.dumps(short) == json.dumps(whole)  # the order of names as well


def test_a_question_looks_through_a_file_once(tmp_path, monkeypatch, capsys):
    looks = []
    survey = surveys.survey
    monkeypatch.setattr(surveys, "survey", lambda files, form: looks.append(form) or survey(files, form))
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "rows.csv"
    path.write_text("item_id,value\n" + "".join(f"i{at},{at % 2}\n" for at in range(20)))
    assert cli.main(["score", str(path)]) == 0
    assert "50.0%" in capsys.readouterr().out
    assert looks == ["csv"]


def test_every_format_is_read_by_its_own_mapping_and_an_unknown_one_is_refused():
    for form in FORMATS:
        section = {"format": form, "nonsense": 1}
        with pytest.raises(ForelockError) as refused:
            mapping_from(section)
        assert "import.nonsense" in str(refused.value.document())
    for section in ({"format": "nonsense"}, {"format": 7}, {}, [], "csv"):
        with pytest.raises(ForelockError):
            mapping_from(section)
