"""Lint of rules: the sentence, its fields and units, and whether it mixes estimands."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error
from service.domain.rules.claims.clauses import weighs_clusters
from service.domain.rules.fields import EFFECT_FIELDS, RATIO, choices, nearest_field
from service.domain.rules.rule import Clause, Comparison, Excludes, Is, Quantity, quantities
from service.domain.rules.settings import Setting, Use


def rule_findings(setting: Setting) -> Iterator[Finding]:
    """Findings of one hypothesis' rule."""
    path = f"{setting.path}.rule"
    if setting.rule_fault is not None:
        yield error("RULE_INVALID", path, setting.rule_fault)
    for clause in setting.clauses:
        yield from _field(setting, clause, path)
        yield from _units(setting, clause, path)
    yield from _estimands(setting, path)


def _field(setting: Setting, clause: Clause, path: str) -> Iterator[Finding]:
    if clause.field.test is None:
        if isinstance(clause, Excludes):
            yield error("RULE_FIELD_TYPE", path, "`delta` is a number: only an interval excludes a value")
        elif isinstance(clause, Is):
            yield error("RULE_FIELD_TYPE", path, "`delta` is a number, not true or false: compare it")
        return
    use = setting.uses.get(clause.field.test)
    if use is None:
        return
    shape, name = setting.shape(clause), str(clause.field)
    if shape is None:
        yield _unknown_field(use, clause, path)
    elif shape == "other":
        message = f"`{name}` is neither a number nor an interval, nor true or false"
        yield error("RULE_FIELD_TYPE", path, message)
    elif shape == "truth":
        if not isinstance(clause, Is):
            message = f"`{name}` is true or false: write `{name} is true` or `{name} is false`"
            yield error("RULE_FIELD_TYPE", path, message)
    elif isinstance(clause, Is):
        what = "an interval" if shape == "interval" else "a number"
        yield error("RULE_FIELD_TYPE", path, f"`{name}` is {what}, not true or false: compare it")
    elif shape == "interval" and isinstance(clause, Comparison):
        message = (
            f"`{name}` is an interval: compare `{name}.low` or `{name}.high`, or use `excludes` or `within`"
        )
        yield error("RULE_FIELD_TYPE", path, message)
    elif shape != "interval" and isinstance(clause, Excludes):
        yield error("RULE_FIELD_TYPE", path, f"`{name}` is a number: only an interval excludes a value")


def _unknown_field(use: Use, clause: Clause, path: str) -> Finding:
    """Fields are listed as a rule writes them, the test's id before them."""
    test, name, id_ = use.test.name, str(clause.field), use.use.id
    has = ", ".join(f"`{id_}.{choice}`" for choice in choices(use.test.analysis))
    meant = nearest_field(use.test.analysis, clause.field.path)
    if meant is None:
        return error("RULE_FIELD_UNKNOWN", path, f"'{test}' has no field for `{name}`; it has {has}")
    return error(
        "RULE_FIELD_UNKNOWN",
        path,
        f"'{test}' has no field for `{name}`: did you mean `{id_}.{meant}`? It has {has}",
    )


def is_effect(clause: Clause) -> bool:
    """True when the field is on the scale of the difference, so that its thresholds have its unit."""
    return clause.field.path[0] in EFFECT_FIELDS


def _units(setting: Setting, clause: Clause, path: str) -> Iterator[Finding]:
    endpoint = setting.endpoint_of(setting.use_of(clause))
    if endpoint is None or endpoint.kind == "counts":
        return
    binary = endpoint.kind == "binary"
    for quantity in quantities(clause):
        if clause.field.path[0] == RATIO:
            yield from _ratio_unit(clause, quantity, path)
        elif quantity.unit == "pp" and not is_effect(clause):
            yield error(
                "UNIT", path, f"`{clause.field}` is not a difference: write `{quantity.text}` without pp"
            )
        elif quantity.unit == "pp" and not binary:
            message = f"'{endpoint.id}' is continuous and has no percentage points: write a bare number"
            yield error("UNIT", path, f"`{clause}`: {message}")
        elif binary and quantity.unit is None and is_effect(clause) and abs(quantity.exact()) >= 1:
            yield error(
                "UNIT",
                path,
                f"`{clause}`: on a binary endpoint a bare number is a proportion, so {quantity.text} would "
                f"be {_plain(quantity.exact() * 100)} pp: write `{quantity.text} pp`, or "
                f"`{_plain(quantity.exact() / 100)}` for the same as a proportion",
            )


def _ratio_unit(clause: Clause, quantity: Quantity, path: str) -> Iterator[Finding]:
    """A ratio is a plain number above 0, and 1 is no difference."""
    if quantity.unit is not None:
        yield error(
            "UNIT",
            path,
            f"`{clause}`: a ratio has no unit, and 1 is no difference: write "
            f"`{_plain(1 + quantity.exact())}` for {quantity} more",
        )
    elif quantity.exact() <= 0:
        yield error(
            "UNIT",
            path,
            f"`{clause}`: a ratio of amounts is above 0, and 1 is no difference: write for instance `0.8` for a fifth "
            "less",
        )


def _plain(value: object) -> str:
    return f"{float(value):.10g}"  # type: ignore[arg-type]


def _estimands(setting: Setting, path: str) -> Iterator[Finding]:
    """`delta` and most tests weigh items alike; some weigh clusters alike, and the two can differ a lot."""
    weights: dict[bool, str] = {}
    for clause in setting.clauses:
        use = setting.uses.get(clause.field.test or "")
        if setting.beside(clause):
            continue  # another endpoint, another effect
        if clause.field.test is None or use is not None:
            weights.setdefault(use is not None and weighs_clusters(use, clause), str(clause.field))
    if len(weights) == 2:
        yield error(
            "ESTIMAND_MIXED",
            path,
            f"`{weights[True]}` weighs clusters alike and `{weights[False]}` weighs items alike, so they "
            "speak of two different effects: use one estimand throughout the rule",
        )
