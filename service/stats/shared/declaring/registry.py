"""The register of statistical tests. One object per test; every door reads the rest from it."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed_version
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from service.errors import InvalidData, NotFound
from service.records import Record
from service.stats.shared.declaring.common import Analysis, Request, Resampling, StatWarning
from service.stats.shared.declaring.plan_use import PlanUse
from service.words import message

A = TypeVar("A", bound=Analysis)
R = TypeVar("R", bound=Request)

MOST_SECONDS = 1800.0
"""Longest computation a request may ask for, by its estimate."""
MOST_SECONDS_BESIDE = 60.0
"""Longest computation of a test that an answer asks beside others."""

WARMING_SECONDS = 0.012
"""Examples that are estimated to compute for longer are not computed while the service starts."""

SECTIONS = ("Returns", "Raises", "Edge cases", "Sources", "Example")


class Provenance(Record):
    """Enough to repeat the computation."""

    exact: bool
    error_bound: float | None = Field(description="Absolute error of an exact probability; null when drawn.")
    n_resamples: int | None
    seed: int | None
    bit_generator: str | None
    input_sha256: str = Field(description="SHA-256 of the validated request, compact JSON in schema order.")
    versions: dict[str, str]


class Answer(BaseModel, Generic[A]):
    """What `POST /v1/tests/{name}` answers, and what a verdict keeps per test."""

    test: str
    version: int
    analysis: A
    warnings: tuple[StatWarning, ...]
    provenance: Provenance


Service = Literal[
    "fourfold",
    "family",
    "clustered",
    "margin",
    "resampled",
    "ranked",
    "bounded",
    "scored",
    "weighted",
    "unpaired_shares",
    "unpaired_means",
]
"""What the service itself asks a test for: the difference that a fourfold table from elsewhere shows, to correct the
p-values of a family, the difference of items in clusters, a difference against a margin, that of scores by resampling,
the order of several arms, the difference of scores that have a least and a greatest value, the mean of one arm, the
mean of several tasks under weights, or the difference of two arms on different items, of shares or of means."""

SERVED_BY: Mapping[Service, str] = {
    "fourfold": "mcnemar",
    "family": "multiple-comparisons",
    "clustered": "clustered-mcnemar",
    "margin": "equivalence",
    "resampled": "paired-bootstrap",
    "ranked": "leaderboard",
    "bounded": "bounded-difference",
    "scored": "one-sample-mean",
    "weighted": "suite",
    "unpaired_shares": "proportions",
    "unpaired_means": "unpaired-difference",
}
"""The test for each, which says so itself in `serves`."""

Question = Literal[
    "pairs",
    "clusters",
    "unpaired",
    "margin",
    "one_system",
    "several",
    "runs",
    "judges",
    "design",
    "hypotheses",
    "looks",
    "replication",
]
"""What somebody wants to know who asks a test, in the order of lists of tests; `pages.tests_*` are its sentences."""

Drawn = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]
"""Named arrays of numbers, one row per replicate (or per block) along axis 0."""


@dataclass(frozen=True, slots=True)
class Blocks(Generic[R, A]):
    """How a Monte-Carlo test is cut, so that any number of workers gives the same bytes.

    A block is a fixed number of replicates with a generator of its own, the n-th child of the seed.
    `count` says how many blocks a request needs in all, 0 when nothing is drawn; it is asked again
    with what was drawn until it asks for no more. `draw` computes consecutive blocks; drawing them in
    several calls and joining the arrays along axis 0 gives the same arrays. `finish` makes the
    analysis, and equals `compute` when given every block.
    """

    count: Callable[[R, Drawn | None], int]
    draw: Callable[[R, range], Drawn]
    finish: Callable[[R, Drawn], A]

    def whole(self, request: R) -> A:
        """Draw every block here and finish."""
        drawn: Drawn | None = None
        done = 0
        while (needed := self.count(request, drawn)) > done:
            more = self.draw(request, range(done, needed))
            drawn = more if drawn is None else join_blocks([drawn, more])
            done = needed
        return self.finish(request, drawn or {})


def join_blocks(parts: Sequence[Drawn]) -> Drawn:
    """Return the arrays of consecutive blocks, end to end."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True, slots=True)
class StatTest(Generic[R, A]):
    """A statistical test: its name, version, schemas, words, example and computation."""

    name: str
    version: int
    title: str
    asked: Question
    request: type[R]
    analysis: type[A]
    compute: Callable[[R], A]
    example: Mapping[str, Any]
    cost: Callable[[R], float]
    plan: PlanUse | None
    blocks: Blocks[R, A] | None = None
    serves: frozenset[Service] = frozenset()
    closed_form: bool = False
    """Computed in steps that grow no faster than the request's bytes, and with small constants: a small
    request may be answered where nothing else can go on meanwhile."""

    @property
    def words(self) -> str:
        """The docstring of the test's function, without its indentation."""
        return inspect.getdoc(self.compute) or ""

    @property
    def summary(self) -> str:
        """The first line of the docstring, which is one sentence."""
        return self.words.split("\n", 1)[0]

    def section(self, name: str) -> str:
        """Return one section of the docstring (`Returns`, `Raises`, `Edge cases`, `Sources`, `Example`)."""
        match = re.search(rf"^{name}:\n((?:[ ]{{4}}.*\n?|\n)+)", self.words + "\n", re.MULTILINE)
        return inspect.cleandoc(match.group(1)) if match else ""

    def answer(
        self, request: R, drawn: Drawn | None = None, *, most_seconds: float = MOST_SECONDS
    ) -> Answer[A]:
        """Return the analysis with its warnings, and with what it takes to compute it again.

        Args:
            drawn: every block's numbers, where they were drawn elsewhere; the answer is the same.
            most_seconds: how long it may compute, where other answers in one response wait for it.

        Raises:
            InvalidData: `too_long`, by the estimate.
        """
        if drawn is None:
            self.require_affordable(request, most_seconds)
        with _refuse_too_extreme(self.name):
            if self.blocks is None or drawn is None:
                analysis = self.compute(request)
            else:
                analysis = self.blocks.finish(request, drawn)
        resampling: Resampling = analysis.resampling
        return _answer_type(self.analysis)(
            test=self.name,
            version=self.version,
            analysis=analysis,
            warnings=analysis.warnings,
            provenance=Provenance(
                exact=resampling.exact,
                error_bound=resampling.error_bound,
                n_resamples=resampling.n_resamples,
                seed=resampling.seed,
                bit_generator=resampling.bit_generator,
                input_sha256=fingerprint(request),
                versions=library_versions(),
            ),
        )

    def block_count(self, request: R, drawn: Drawn | None = None) -> int:
        """Return how many blocks the request needs in all, given what is drawn already; 0: computed whole."""
        self.require_affordable(request)
        return 0 if self.blocks is None else self.blocks.count(request, drawn)

    def draw(self, request: R, which: range) -> Drawn:
        """Return the numbers that these consecutive blocks draw."""
        blocks = self.blocks
        assert blocks is not None  # noqa: S101 - callers ask block_count first
        with _refuse_too_extreme(self.name):
            return blocks.draw(request, which)

    def require_affordable(self, request: R, most_seconds: float = MOST_SECONDS) -> None:
        """Refuse what would compute for hours, or for longer than the other answers of one response may wait."""
        seconds = self.cost(request)
        if most_seconds < MOST_SECONDS and seconds > most_seconds:
            raise InvalidData(
                f"{self.name} would compute for more than {most_seconds:g} seconds on these rows; send it as a test of "
                "its own, which becomes a job",
                code="too_long",
            )
        if seconds > MOST_SECONDS:
            raise InvalidData(
                f"{self.name} would compute for about {seconds / 3600:.1f} hours, and {MOST_SECONDS / 3600:g} is the "
                "most that one request may ask for; ask for fewer draws, sizes, items or looks",
                code="too_long",
            )


@contextmanager
def _refuse_too_extreme(name: str) -> Iterator[None]:
    """Refuse a request on which a test overflows: numbers that are not finite are the request's fault."""
    try:
        yield
    except (ArithmeticError, ValidationError) as error:
        if isinstance(error, ValidationError) and any(
            fault["type"] != "finite_number" for fault in error.errors(include_url=False)
        ):
            raise
        raise InvalidData(
            f"{name} overflows on values this extreme; rescale them or choose milder parameters",
            code="not_computable",
        ) from error


@cache
def _answer_type(analysis: type[A]) -> type[Answer[A]]:
    return Answer[analysis]  # type: ignore[valid-type]


def fingerprint(request: Request) -> str:
    """Return the SHA-256 of a validated request as compact JSON in schema order."""
    return hashlib.sha256(request.json_bytes()).hexdigest()


_TESTS: dict[tuple[str, int], StatTest[Any, Any]] = {}


def stat_test(
    *,
    name: str,
    version: int,
    title: str,
    asked: Question,
    example: Mapping[str, Any],
    cost: Callable[[R], float] = lambda _request: 0.001,
    plan: PlanUse | None = None,
    blocks: Blocks[R, Any] | None = None,
    serves: frozenset[Service] = frozenset(),
    closed_form: bool = False,
) -> Callable[[Callable[[R], A]], Callable[[R], A]]:
    """Register a function `(Request) -> Analysis` as a statistical test.

    `asked` is the question that lists of tests have it under.
    `cost` estimates seconds from the request: below 1 the test is answered at once, above it becomes a job. Its
    coefficients are seconds per item, draw or pair, measured on one core and rounded up.
    `closed_form` tests answer small requests on the event loop; the others run in a calculator.
    `blocks` lets a job's drawing be cut into shards. `serves` is what the service itself asks the test for.
    """

    def register(compute: Callable[[R], A]) -> Callable[[R], A]:
        """Enter the test into the registry, with request and answer by its annotations."""
        hints = get_type_hints(compute)
        key = (name, version)
        if key in _TESTS:
            raise ValueError(f"statistical test {name} version {version} is registered twice")
        _TESTS[key] = StatTest(
            name=name,
            version=version,
            title=title,
            asked=asked,
            request=hints["request"],
            analysis=hints["return"],
            compute=compute,
            example=example,
            cost=cost,
            plan=plan,
            blocks=blocks,
            serves=serves,
            closed_form=closed_form,
        )
        return compute

    return register


def by_question(tests: Iterable[StatTest[Any, Any]]) -> dict[Question, list[StatTest[Any, Any]]]:
    """Tests under what they are asked, questions in their order; one that no test is asked is left out."""
    ordered = list(tests)
    grouped = {
        question: [test for test in ordered if test.asked == question] for question in get_args(Question)
    }
    return {question: members for question, members in grouped.items() if members}


@cache
def load() -> None:
    """Import every family, which registers its tests and warnings."""
    package = importlib.import_module("service.stats")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"service.stats.{module.name}")


def every() -> Iterator[StatTest[Any, Any]]:
    """Yield every registered (name, version), by name and then version."""
    load()
    yield from (_TESTS[key] for key in sorted(_TESTS))


def latest() -> dict[str, StatTest[Any, Any]]:
    """Return the newest version of every test, by name."""
    return {test.name: test for test in every()}


def own_module(name: str) -> None:
    """Import the module of a test, which has its name: one test is answered without loading all."""
    module = f"service.stats.{name.replace('-', '_')}"
    if name.replace("-", "_").isidentifier() and importlib.util.find_spec(module) is not None:
        importlib.import_module(module)


def serving(service: Service) -> StatTest[Any, Any]:
    """Return the newest test that the service itself asks for this."""
    name = SERVED_BY[service]
    own_module(name)
    return _TESTS[max(key for key, test in _TESTS.items() if key[0] == name and service in test.serves)]


@cache
def warm_up() -> None:
    """Compute every example once: what is made at the first answer then keeps nobody waiting.

    What takes long to compute takes as long the next time: nothing is gained by computing it here.
    """
    for test in every():
        request = test.request.model_validate(dict(test.example))
        if test.cost(request) < WARMING_SECONDS:
            test.answer(request)


def find(name: str, version: int | None = None) -> StatTest[Any, Any]:
    """Return the test of that name, newest version unless one is given."""
    if version is not None and (name, version) in _TESTS:  # once loaded, its module is not searched for again
        return _TESTS[name, version]
    own_module(name)
    known = [key for key in _TESTS if key[0] == name and version in (None, key[1])]
    if not known:
        names = ", ".join(latest())
        which = name if version is None else f"{name} version {version}"
        raise NotFound(message("refusals.no_test", test=which, names=names))
    return _TESTS[max(known)]


@cache
def library_versions() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: installed_version(name) for name in ("forelock-server", "numpy", "scipy")},
    }
