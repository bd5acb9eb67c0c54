"""Lint of what a plan assumes: numbers that cannot be true together, or that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.sections.assumptions import Assumed
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.settings import Setting
from service.errors import InvalidData
from service.words import say

CODE = "ASSUMPTION"


def assumption_findings(plan: Plan) -> Iterator[Finding]:
    """Yield errors of assumptions about hypotheses that the plan does not have."""
    stated = plan.assumptions.hypotheses if plan.assumptions else None
    known = {hypothesis.id for hypothesis in plan.hypotheses or ()}
    for name in stated or {}:
        if name not in known:
            names = ", ".join(f"'{other}'" for other in sorted(known)) or "none"
            message = say("findings.unknown_name", noun=say("findings.hypothesis"), name=name, known=names)
            yield error("UNKNOWN_NAME", f"assumptions.hypotheses.{name}", message)


def amounts_findings(plan: Plan) -> Iterator[Finding]:
    """Yield warnings of amounts that are assumed of endpoints which are none, so that nothing reads them."""
    stated = plan.assumptions
    if stated is None:
        return
    own = {f"hypotheses.{name}.": assumed for name, assumed in (stated.hypotheses or {}).items()}
    for where, assumed in {"": stated, **own}.items():
        for name in assumed.amounts or {}:
            endpoint = plan.endpoint(name)
            if endpoint is None or not endpoint.positive:
                message = say("findings.amounts_unread", name=name)
                yield warning(CODE, f"assumptions.{where}amounts.{name}", message)


def hypothesis_assumption_findings(plan: Plan, setting: Setting) -> Iterator[Finding]:
    """Yield errors and warnings of what is assumed of one hypothesis and cannot be true, or is not read."""
    endpoint, population = setting.endpoint, setting.population
    if plan.assumptions is None or endpoint is None or population is None or endpoint.kind == "counts":
        return
    name = setting.hypothesis.id
    assumed = plan.assumptions.of(name)
    binary = endpoint.collapsed_kind == "binary"

    def path(field: str) -> str:
        own = (plan.assumptions.hypotheses or {}).get(name) if plan.assumptions else None
        stated = own is not None and getattr(own, field) is not None
        return f"assumptions.hypotheses.{name}.{field}" if stated else f"assumptions.{field}"

    effect = None
    if assumed.effect is not None:
        try:
            effect = assumed.effect.for_endpoint(binary=endpoint.kind == "binary", path=path("effect"))
        except InvalidData as invalid:
            for fault in invalid.faults:
                yield error("UNIT", fault.path, f"{fault.message}: {fault.fix}")
    discordance = assumed.discordance if binary else None
    if effect is not None and discordance is not None and abs(effect) > discordance + 1e-9:
        yield warning(
            CODE,
            path("effect"),
            say(
                "findings.discordance_below_difference",
                effect=f"{100 * effect:g}",
                share=f"{100 * discordance:g}",
                name=name,
            ),
        )
    if assumed.icc is not None and population.clusters is None and _is_own(plan, name, "icc"):
        message = say("findings.icc_without_clusters", population=population.id, name=name)
        yield warning(CODE, path("icc"), message)
    other = "sd" if binary else "discordance"
    if getattr(assumed, other) is not None and _is_own(plan, name, other):
        instead = "discordance" if binary else "sd"
        message = say(
            "findings.other_assumption",
            endpoint=endpoint.id,
            kind=endpoint.collapsed_kind,
            instead=instead,
            name=name,
        )
        yield warning(CODE, path(other), message)
    yield from _check_scale(assumed, endpoint, effect, name, path("sd"), path("baseline_mean"))


def _is_own(plan: Plan, name: str, field: str) -> bool:
    """Tell whether a field is assumed of this hypothesis by itself, or of a plan's only one."""
    stated = plan.assumptions
    own = (stated.hypotheses or {}).get(name) if stated else None
    return (own is not None and getattr(own, field) is not None) or len(plan.hypotheses or ()) == 1


def _check_scale(
    assumed: Assumed, endpoint: Endpoint, effect: float | None, name: str, sd_path: str, mean_path: str
) -> Iterator[Finding]:
    """Yield warnings of an assumed SD or mean that the scale of the endpoint has no room for."""
    ends = (0.0, 1.0) if endpoint.kind == "binary" else None
    if endpoint.bounds is not None and endpoint.kind == "continuous":
        ends = (endpoint.bounds.low, endpoint.bounds.high)
    if ends is None:
        return
    low, high = ends
    if assumed.sd is not None and endpoint.kind == "continuous" and assumed.sd > high - low:
        message = say("findings.sd_too_large", low=f"{low:g}", high=f"{high:g}", sd=f"{assumed.sd:g}")
        yield warning(CODE, sd_path, message)
    mean = assumed.baseline_mean
    if mean is not None and not (low <= mean <= high and low <= mean + (effect or 0.0) <= high):
        message = say("findings.means_outside", name=name, low=f"{low:g}", high=f"{high:g}")
        yield warning(CODE, mean_path, message)
