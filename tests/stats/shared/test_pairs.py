import json

import numpy as np
import pytest

from service.errors import InvalidData
from service.stats.shared.declaring import registry

TESTS = ("mcnemar", "equivalence", "paired-difference")


def read(name, body):
    return registry.find(name).request.model_validate_json(json.dumps(body))


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize(
    "body",
    [
        {"baseline": [0, 1, 1.0, 0], "candidate": [1, 1, 0, 0]},
        {"baseline": [1], "candidate": [0]},
        {"baseline": [1, -0.0], "candidate": [-0.0, 0]},
        {"both_correct": 3, "only_baseline": 1, "only_candidate": 0, "both_wrong": 4},
        {"baseline": [0.5, -0.0, 1e-9], "candidate": [1, 0, 3]},
    ],
)
def test_the_text_that_is_hashed_is_what_pydantic_writes(name, body):
    if name == "equivalence":
        unit = "score" if 0.5 in body.get("baseline", ()) else "pp"
        body = {"margin": {"value": 2, "unit": unit}, **body}
    try:
        request = read(name, body)
    except InvalidData:  # some take binary columns only
        assert 0.5 in body["baseline"]
        return
    assert request.json_bytes().decode() == request.model_dump_json()


def test_the_table_of_columns_is_the_one_that_counting_gives():
    rng = np.random.default_rng(1)
    baseline, candidate = (rng.random((2, 300)) < 0.4).astype(int).tolist()
    table = read("mcnemar", {"baseline": baseline, "candidate": candidate}).table
    pairs = list(zip(baseline, candidate, strict=True))
    found = (table.both_correct, table.only_baseline, table.only_candidate, table.both_wrong)
    assert found == tuple(pairs.count(pair) for pair in ((1, 1), (1, 0), (0, 1), (0, 0)))


@pytest.mark.parametrize("column", [[0, 2], [0.5, 1], [1, -1], [1, 1e160]])
def test_a_column_of_other_values_is_refused_whichever_arm_has_it(column):
    for body in ({"baseline": column, "candidate": [0, 1]}, {"baseline": [0, 1], "candidate": column}):
        with pytest.raises(InvalidData):
            read("mcnemar", body)


def test_replicates_are_named_and_other_faults_keep_their_place():
    with pytest.raises(InvalidData, match="several values per item") as refused:
        read("mcnemar", {"baseline": [1, 0], "candidate": [[1], [0]]})
    assert refused.value.faults[0].path == "candidate"
    with pytest.raises(ValueError, match="float_type"):
        read("mcnemar", {"baseline": [1, "x"], "candidate": [1, 0]})


def test_the_schema_of_a_column_is_an_array_of_numbers():
    schema = registry.find("mcnemar").request.model_json_schema()["properties"]["baseline"]
    array, null = schema["anyOf"]
    assert (array["type"], array["items"]["type"], null["type"]) == ("array", "number", "null")
