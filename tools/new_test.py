"""`./do new-test NAME` writes what a new statistical test is made of: its module, its tests, its page and its words.

What is written answers as soon as it has a number: every line that waits for words or for arithmetic says so, and
tests fail until it has them.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]

MODULE = Template('''\
"""WRITE: what the family of tests in this file is, in a sentence."""

from __future__ import annotations

from pydantic import Field

from service.stats.shared.declaring.common import Alternative, Analysis, PairedColumns
from service.stats.shared.declaring.fields import Alpha, ItemCount
from service.stats.shared.declaring.plan_use import PlanUse
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import decision
from service.stats.shared.declaring.shows import PValue, Shows, against_zero
from service.words import speak


class ${class_name}Request(PairedColumns):
    """WRITE: what data it takes."""

    alternative: Alternative = "two-sided"
    alpha: Alpha = 0.05


class ${class_name}Analysis(Analysis):
    """WRITE: what it found."""

    p_value: float = Field(description="Of the alternative asked for.")
    n: ItemCount
    alternative: Alternative


def _cost(request: ${class_name}Request) -> float:
    """Seconds; measure it."""
    return 0.0005 + 1e-7 * len(request.baseline)


SHOWS: Shows = {"p_value": PValue(against_zero)}
"""What every number, interval and truth of the analysis says of the difference (service/stats/shared/declaring)."""


# A plan may use it; leave `plan` out where none may. What else can be said here is in
# service/stats/shared/declaring/plan_use.py:
# the least p, exact and simulated power, what prose calls it.
@stat_test(
    name="${name}",
    version=1,
    title="${title}",
    asked="pairs",
    example={"baseline": [1.0, 2.0, 3.0], "candidate": [2.0, 3.0, 3.0]},
    cost=_cost,
    plan=PlanUse(endpoints=frozenset({"continuous"}), shows=SHOWS),
    closed_form=True,
)
def ${function}(request: ${class_name}Request) -> ${class_name}Analysis:
    """WRITE: what it tests, in a sentence.

    WRITE: the model and H0.

    Returns:
        p_value: WRITE.

    Raises:
        InvalidData: columns of different length, or no item.

    Edge cases:
        WRITE: ties, zeros, one item, equal values.

    Sources:
        WRITE: author (year), journal.

    Example:
        WRITE: what the source says of the example's data.
    """
    p_value = float("nan")  # WRITE: the p-value; heavy arithmetic belongs into service/kernels
    return ${class_name}Analysis(
        p_value=p_value,
        n=len(request.baseline),
        alternative=request.alternative,
        sentence=speak(
            "analyses.${function}",
            n=len(request.baseline),
            # WRITE: the code of its H0, and a bound where p is one
            decision=decision(p_value, request.alpha, "runs.equal_means", bound=None),
        ),
    )
''')

TESTS = Template('''\
"""WRITE: the test against its source, by its definition, and by its properties."""

from __future__ import annotations

import pytest

from tests.stats.bodies import bodies_of_pairs, scores
from tests.stats.cases import Cases
from tests.stats.oracle import ask


@pytest.mark.parametrize(("baseline", "candidate", "p"), [])  # WRITE: published data, and the p they have
def test_against_source(baseline, candidate, p):
    answer = ask("${name}", {"baseline": baseline, "candidate": candidate})
    assert answer.analysis.p_value == pytest.approx(p)


CASES = Cases(  # tests/stats/cases.py says what each part is for
    degenerate=bodies_of_pairs,
    growing=[lambda k: scores(2000 * k)],
    mirrored={"paired scores": [{}]},
    unsimulated="WRITE: why not, or `simulated` as in test_wilcoxon.py",
    varied={},
)
''')

PAGE = """\
## When to use

WRITE.

## When not to use

WRITE.

## Minimum

WRITE.

## Formula

WRITE.

## Variants

WRITE.

## Reading the example

WRITE.
"""

SAID = {
    "titles": Template('${name} = "${title}"'),
    "summaries": Template('${name} = "WRITE: what it tests, in a sentence."'),
    "models": Template('${name} = "WRITE: the model and H0."'),
    "analyses": Template('${function} = "WRITE: of {n} pairs, {decision:runs}"'),
}
"""By room of `service/words` the line of a test. The first three say in English what the module says."""
CATALOGUES = Path("service", "words")


def files(name: str) -> dict[str, str]:
    """Path from the checkout to text, of a test with that name."""
    values = _values(name)
    return {
        f"service/stats/{values['function']}.py": MODULE.substitute(values),
        f"tests/stats/test_{values['function']}.py": TESTS.substitute(values),
        f"docs/tests/words/{name}.md": PAGE,
    }


def lines(name: str, root: Path) -> dict[Path, str]:
    """By catalogue, in every language there is, the line that is added to it; another language waits for its title."""
    values = _values(name)
    return {
        folder / f"{room}.toml": line.substitute(
            values, title=values["title"] if folder.name == "en" else "WRITE: its title"
        )
        for folder in sorted((root / CATALOGUES).glob("*"))
        for room, line in SAID.items()
        if (folder / f"{room}.toml").exists()
    }


def _values(name: str) -> dict[str, str]:
    words = name.split("-")
    return {
        "name": name,
        "function": "_".join(words),
        "class_name": "".join(word.title() for word in words),
        "title": name.replace("-", " ").capitalize(),
    }


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the files and the lines, unless a file is there; 2 for a name that cannot be."""
    parser = argparse.ArgumentParser(prog="./do new-test", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("name", metavar="NAME", help="in lower case with hyphens, such as sign-test")
    name = parser.parse_args(arguments).name
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name):
        print(f"'{name}' is no name of a test: write lower-case words with hyphens", file=sys.stderr)
        return 2
    made = files(name)
    there = [path for path in made if (root / path).exists()]
    if there:
        print(f"{', '.join(there)} is there already: nothing was written", file=sys.stderr)
        return 2
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
        print(path)
    for catalogue, line in lines(name, root).items():
        with catalogue.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        print(f"{catalogue.relative_to(root)}, at its end")
    print("Replace every line that says WRITE, then: ./do pages, ./do check, ./do test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
