"""What every statistical test declares of itself for the tests that go over the whole register.

`tests/stats/test_<name>.py` holds it as `CASES`, beside the test's own tests.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from service.stats.shared.declaring import registry

if TYPE_CHECKING:
    from tests.simulation.rows import Batch

Body = dict[str, Any]
Arms = Literal["binary", "paired scores", "runs", "clusters", "order", "halves"]


@dataclass(frozen=True)
class Cases:
    """The bodies and options a test is tried with."""

    degenerate: Callable[[], Iterable[Body]]
    """Bodies that nobody should send: `test_degenerate.py` sends them, with every option."""
    growing: Sequence[Callable[[int], Body]] | str
    """k to a body k times as long, one for each way to be long: `test_cost.py` wants the estimate to grow. Or
    why it need not."""
    mirrored: Mapping[Arms, Sequence[Body]] = field(default_factory=dict)
    """Options on columns of each kind of arms: `test_properties.py` swaps the arms, reorders the items, and so on.
    Empty for a test without two arms, or with a reason in `unmirrored`."""
    unmirrored: str = ""
    swapped: Sequence[tuple[str, str]] = ()
    """Fields of the analysis that change places when the arms do, beside those that every test has."""
    simulated: Callable[[], Iterable[Batch]] = tuple
    """What is drawn thousands of times where the truth is known, for docs/simulations.md: errors and coverage."""
    unsimulated: str = ""
    """Why nothing is, for a test with a p-value or an interval."""
    varied: Mapping[str, Sequence[Any]] | None = None
    """Parameters worth varying in a plan; None where no plan may use the test."""
    shown: Mapping[str, Sequence[Any]] | None = None
    """The same for `test_shows.py`, where other ones matter to what the fields say of the difference."""


def file_of(name: str) -> str:
    """Where the test's own tests are."""
    return f"tests/stats/test_{name.replace('-', '_')}.py"


@cache
def cases_of(name: str) -> Cases:
    """The declaration of a test.

    Raises:
        LookupError: there is none; the sentence says what to write.
    """
    module = file_of(name).removesuffix(".py").replace("/", ".")
    try:
        found: Cases = importlib.import_module(module).CASES
    except (ModuleNotFoundError, AttributeError) as missing:
        raise LookupError(
            f"write `CASES = Cases(degenerate=..., growing=..., ...)` in {file_of(name)}: "
            "tests/stats/cases.py says what belongs in each part"
        ) from missing
    return found


def declared() -> dict[str, Cases]:
    """Every test's declaration, by name."""
    return {name: cases_of(name) for name in registry.latest()}


def on_arms(arms: Arms) -> list[tuple[str, Body]]:
    """Test and options of every case on such arms."""
    return [(name, options) for name, cases in declared().items() for options in cases.mirrored.get(arms, ())]
