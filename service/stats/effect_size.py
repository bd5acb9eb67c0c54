"""Standardized mean differences: d, g, Glass' delta and d_z."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from service.kernels.effects.effect_sizes import standard_error_of_d
from service.stats.shared.data.samples import EffectSizes, LabelScheme, TwoSamples, arms_of, effect_sizes
from service.stats.shared.declaring.common import Analysis, Interval
from service.stats.shared.declaring.fields import LevelOfAll
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import level_text, state_reason
from service.words import message, speak


class EffectSizeRequest(TwoSamples):
    """Two arms; `paired` needs one value per item in both, in the same order."""

    elsewhere: ClassVar = {"alternative": "t-test", "alpha": "t-test"}

    design: Literal["independent", "paired"] = Field("independent", description="Are the columns paired?")
    level: LevelOfAll = 0.95
    label_scheme: LabelScheme = Field("cohen_1988", description="Cut points of the label.")


class EffectSizeAnalysis(Analysis, EffectSizes):
    """Standardized differences of two arms."""

    delta: float = Field(description="Mean of the candidate minus mean of the baseline, score units.")
    ci: Interval | None = Field(description="That of Cohen's d (paired: of d_z), in SDs.")
    cohens_d_se: float | None = Field(description="Large-sample SE of d for independent arms, in SDs.")
    design: Literal["independent", "paired"] = Field(description="As asked.")
    n: int = Field(description="Runs of both arms together; pairs when paired.")


def _estimate_cost(request: EffectSizeRequest) -> float:
    return 0.005 + 2.5e-7 * (len(request.baseline) + len(request.candidate))


@stat_test(
    name="effect-size",
    version=1,
    title="Standardized effect sizes (d, g, Glass, d_z)",
    asked="unpaired",
    example={"baseline": [73.0, 75.0, 77.0, 74.0, 76.0], "candidate": [85.0, 87.0, 86.0, 88.0, 84.0]},
    cost=_estimate_cost,
    closed_form=True,
)
def effect_size(request: EffectSizeRequest) -> EffectSizeAnalysis:
    """Express the difference of two means in standard deviations.

    Arms are roughly normal with one SD; then d times a root of the sample sizes is
    noncentral t, which gives the interval. There is no H0: this describes.

    Returns:
        cohens_d: delta / pooled sample SD (ddof 1).
        hedges_g: d times the exact gamma factor J; its interval is J times that of d.
        glass_delta: delta / sample SD of the baseline.
        cohens_dz: paired designs, mean difference / SD of the differences.
        effect_label: a word for the size, by the cut points of the named scheme.

    Raises:
        InvalidData: an empty arm, values beyond 1e150, or paired columns of different length.

    Edge cases:
        No spread: the effects are null with a reason, never infinite.
        One value per arm: no SD, every effect is null.
        Paired: d and g are given without interval, since theirs assumes independent arms.
        seed4_code as scheme: the two-cut labels in which a d of 0 is called small.

    Sources:
        Hedges & Olkin (1985), Statistical Methods for Meta-Analysis, ch. 5.
        Cohen (1988), Statistical Power Analysis, 2nd ed. (labels).
        Sawilowsky (2009), J Mod Appl Stat Methods 8:597 (labels).

    Example:
        Five runs of 73..77 against five of 84..88: d = 6.96 (3.38 to 10.50), g = 6.28.
    """
    paired = request.design == "paired"
    arms = arms_of(*request.arrays(), paired=paired)
    reasons: dict[str, str] = {}
    effects = effect_sizes(arms, request.level, request.label_scheme, reasons)
    estimate, ci, name = (
        (effects.cohens_dz, effects.cohens_dz_ci, "d_z")
        if paired
        else (effects.cohens_d, effects.cohens_d_ci, "d")
    )
    se = None
    if effects.cohens_d is None or paired:
        reasons["cohens_d_se"] = "paired arms" if paired else reasons["cohens_d"]
    else:
        se = standard_error_of_d(effects.cohens_d, arms.baseline.n, arms.candidate.n)
    if estimate is None or ci is None:
        reasons["ci"] = reasons["cohens_dz" if paired else "cohens_d"]
        delta, why = f"{arms.delta:+.4g}", state_reason(reasons["ci"])
        sentence = speak("analyses.effect_size_undefined", delta=delta, reason=why)
    else:
        low, high = f"{ci.low:.3g}", f"{ci.high:.3g}"
        sentence = speak(
            "analyses.effect_size",
            size=f"{estimate:+.3g}",
            name=name,
            interval=message("analyses.ci", level=level_text(ci.level), low=low, high=high),
            label=message(f"analyses.label_{str(effects.effect_label).replace(' ', '_')}"),
            scheme=request.label_scheme,
        )
    return EffectSizeAnalysis(
        **effects.model_dump(),
        delta=arms.delta,
        ci=ci,
        cohens_d_se=se,
        design=request.design,
        n=arms.baseline.n if paired else arms.baseline.n + arms.candidate.n,
        reasons=reasons,
        sentence=sentence,
    )
