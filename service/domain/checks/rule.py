"""Lint of rules: the sentence, its fields and units, and whether it mixes estimands."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.rules.claims.clauses import meaning_of, weighs_clusters
from service.domain.rules.fields import EFFECT_FIELDS, RATIO, choices, nearest_field
from service.domain.rules.rule import Clause, Comparison, Excludes, Is, Quantity, quantities
from service.domain.rules.settings import Setting, Use
from service.stats.shared.declaring.shows import Bounded, Covers, Estimate
from service.words import say


def rule_findings(setting: Setting) -> Iterator[Finding]:
    """Yield findings of one hypothesis' rule."""
    path = f"{setting.path}.rule"
    if setting.rule_fault is not None:
        yield error("RULE_INVALID", path, setting.rule_fault)
    for clause in setting.clauses:
        yield from _check_field(setting, clause, path)
        yield from _check_units(setting, clause, path)
    yield from _check_estimands(setting, path)


def _check_field(setting: Setting, clause: Clause, path: str) -> Iterator[Finding]:
    """Find out whether a clause asks of a field what its kind can answer."""
    if clause.field.test is None:
        if setting.reference is not None:
            yield error("RULE_FIELD_TYPE", path, say("findings.delta_of_one_arm"))
        elif isinstance(clause, Excludes):
            yield error("RULE_FIELD_TYPE", path, say("findings.delta_excludes"))
        elif isinstance(clause, Is):
            yield error("RULE_FIELD_TYPE", path, say("findings.delta_is_not_true"))
        return
    use = setting.uses.get(clause.field.test)
    if use is None:
        return
    shape, name = setting.shape(clause), str(clause.field)
    if shape is None:
        yield _refuse_field(use, clause, path)
    elif shape == "other":
        message = say("findings.field_of_no_kind", name=name)
        yield error("RULE_FIELD_TYPE", path, message)
    elif shape == "truth":
        if not isinstance(clause, Is):
            message = say("findings.field_is_true_or_false", name=name)
            yield error("RULE_FIELD_TYPE", path, message)
    elif isinstance(clause, Is):
        what = say("findings.an_interval" if shape == "interval" else "findings.a_number")
        yield error("RULE_FIELD_TYPE", path, say("findings.field_is_not_true", name=name, what=what))
    elif shape == "interval" and isinstance(clause, Comparison):
        message = say("findings.field_is_interval", name=name)
        yield error("RULE_FIELD_TYPE", path, message)
    elif shape != "interval" and isinstance(clause, Excludes):
        yield error("RULE_FIELD_TYPE", path, say("findings.field_excludes", name=name))


def _refuse_field(use: Use, clause: Clause, path: str) -> Finding:
    """Return the error of a field that the test lacks; those it has are listed as a rule writes them."""
    test, name, id_ = use.test.name, str(clause.field), use.use.id
    has = ", ".join(f"`{id_}.{choice}`" for choice in choices(use.test.analysis))
    meant = nearest_field(use.test.analysis, clause.field.path)
    if meant is None:
        return error("RULE_FIELD_UNKNOWN", path, say("findings.unknown_field", test=test, name=name, has=has))
    return error(
        "RULE_FIELD_UNKNOWN",
        path,
        say("findings.unknown_field_near", test=test, name=name, id=id_, meant=meant, has=has),
    )


def is_effect(clause: Clause) -> bool:
    """Tell whether the field is on the scale of the difference, so that its thresholds have its unit."""
    return clause.field.path[0] in EFFECT_FIELDS


def _check_units(setting: Setting, clause: Clause, path: str) -> Iterator[Finding]:
    """Find out whether the numbers of a clause are in the unit of what they are compared with."""
    endpoint = setting.endpoint_of(setting.use_of(clause))
    if endpoint is None or endpoint.kind == "counts":
        return
    binary = endpoint.kind == "binary"
    for quantity in quantities(clause):
        if setting.reference is not None:
            yield from _check_unit_of_one_arm(setting, clause, quantity, endpoint, path)
        elif quantity.unit == "%":
            message = say("findings.percent_of_difference", clause=str(clause), text=quantity.text)
            yield error("UNIT", path, message)
        elif clause.field.path[0] == RATIO:
            yield from _check_ratio_unit(clause, quantity, path)
        elif quantity.unit == "pp" and not is_effect(clause):
            yield error(
                "UNIT",
                path,
                say("findings.unit_without_difference", field=str(clause.field), text=quantity.text),
            )
        elif quantity.unit == "pp" and not binary:
            message = say("findings.no_points", clause=str(clause), endpoint=endpoint.id)
            yield error("UNIT", path, message)
        elif binary and quantity.unit is None and is_effect(clause) and abs(quantity.exact()) >= 1:
            yield error(
                "UNIT",
                path,
                say(
                    "findings.bare_proportion",
                    clause=str(clause),
                    value=quantity.text,
                    points=_plain(quantity.exact() * 100),
                    proportion=_plain(quantity.exact() / 100),
                ),
            )


def _check_unit_of_one_arm(
    setting: Setting, clause: Clause, quantity: Quantity, endpoint: Endpoint, path: str
) -> Iterator[Finding]:
    """Errors of units of one arm: means are in per cent of right and wrong, else in score units, all else in none."""
    use, field = setting.use_of(clause), str(clause.field)
    meaning = None if use is None else meaning_of(use, clause.field.path)[0]
    if not isinstance(meaning, Estimate | Covers | Bounded):
        if quantity.unit is not None:
            message = say("findings.unit_of_no_mean", field=field, text=quantity.text)
            yield error("UNIT", path, message)
    elif endpoint.kind != "binary":
        if quantity.unit is not None:
            message = say("findings.no_percent", clause=str(clause), endpoint=endpoint.id)
            yield error("UNIT", path, message)
    elif quantity.unit == "pp":
        yield error("UNIT", path, say("findings.points_of_mean", clause=str(clause), text=quantity.text))
    elif quantity.unit is None and quantity.exact() > 1:
        yield error("UNIT", path, say("findings.bare_share", clause=str(clause), value=quantity.text))


def _check_ratio_unit(clause: Clause, quantity: Quantity, path: str) -> Iterator[Finding]:
    """Yield errors of a ratio's threshold, which is a plain number above 0; 1 is no difference."""
    if quantity.unit is not None:
        yield error(
            "UNIT",
            path,
            say(
                "findings.ratio_unit",
                clause=str(clause),
                number=_plain(1 + quantity.exact()),
                quantity=str(quantity),
            ),
        )
    elif quantity.exact() <= 0:
        yield error("UNIT", path, say("findings.ratio_not_positive", clause=str(clause)))


def _plain(value: object) -> str:
    return f"{float(value):.10g}"  # type: ignore[arg-type]


def _check_estimands(setting: Setting, path: str) -> Iterator[Finding]:
    """Yield an error where a rule mixes fields that weigh items alike with some that weigh clusters alike."""
    weights: dict[bool, str] = {}
    for clause in setting.clauses:
        use = setting.uses.get(clause.field.test or "")
        if setting.beside(clause):
            continue  # another endpoint, another effect
        if clause.field.test is None or use is not None:
            weights.setdefault(use is not None and weighs_clusters(use, clause), str(clause.field))
    if len(weights) == 2:
        yield error(
            "ESTIMAND_MIXED", path, say("findings.mixed_weights", one=weights[True], other=weights[False])
        )
