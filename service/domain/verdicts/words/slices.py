"""What a verdict says of the slices that the plan asks about, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from service.domain.verdicts.slices import SlicesFound
from service.domain.verdicts.words.chinese_reasons import reason_zh
from service.domain.verdicts.words.numbers import points, probability, score

NAMED, LONGEST = 5, 60
"""Slices that a sentence names, and characters of a name."""


def slices_en(found: SlicesFound, *, binary: bool) -> Iterator[str]:
    """Two sentences: whether no slice loses the margin, and whether the arms change sides."""
    margin, alpha = _margin(found, binary, " pp"), f"{found.alpha:g}"
    asked = f"No slice is to lose {margin} or more (one-sided alpha = {alpha} each)"
    if found.reason is not None:
        yield f"{asked}: cannot tell, since {found.reason}."
        return
    many = len(found.slices)
    if found.outcome == "pass":
        yield f"{asked}: pass, {'all' if many > 1 else 'the'} {many} {'are' if many > 1 else 'is'} shown to lose less."
    elif found.outcome == "fail":
        names = _names(found, "fail", ", ", lambda rest: f" and {rest} more", "'{}'")
        yield f"{asked}: fail, shown to lose more after Holm's correction: {names}."
    else:
        names = _names(found, "cannot_tell", ", ", lambda rest: f" and {rest} more", "'{}'")
        yield f"{asked}: cannot tell, {_count(found, 'pass')} of {many} are shown to lose less, but not {names}."
    yield reversal_en(found)


def reversal_en(found: SlicesFound) -> str:
    """Whether the arms change sides between slices."""
    reversal = found.reversal
    if reversal.p_value is None:
        return f"Whether the arms change sides between slices cannot be told: {reversal.reason}."
    p = f"(Gail and Simon: p = {probability(reversal.p_value, found.alpha)})"
    says = "The arms change sides" if reversal.shown else "It is not shown that the arms change sides"
    return f"{says} between slices {p}."


def slices_zh(found: SlicesFound, *, binary: bool) -> Iterator[str]:
    """The same in Chinese."""
    margin = _margin(found, binary, " 个百分点")
    asked = f"要求任何切片的损失都小于 {margin}(每个切片单侧 alpha = {found.alpha:g})"
    if found.reason is not None:
        yield f"{asked}:无法判定,因为{reason_zh(found.reason)}。"
        return
    many = len(found.slices)
    if found.outcome == "pass":
        yield f"{asked}:通过,{many} 个切片均被证明损失小于该界限。"
    elif found.outcome == "fail":
        names = _names(found, "fail", "、", lambda rest: f" 等另 {rest} 个", "“{}”")
        yield f"{asked}:不通过,经 Holm 校正后仍证明损失大于该界限的有 {names}。"
    else:
        names = _names(found, "cannot_tell", "、", lambda rest: f" 等另 {rest} 个", "“{}”")
        yield f"{asked}:无法判定,{many} 个中有 {_count(found, 'pass')} 个得到证明,但 {names} 没有。"
    yield reversal_zh(found)


def reversal_zh(found: SlicesFound) -> str:
    """The same in Chinese."""
    reversal = found.reversal
    if reversal.p_value is None:
        return f"两臂的优劣是否随切片反转无法判定:{reason_zh(reversal.reason)}。"
    p = f"(Gail-Simon 检验:p = {probability(reversal.p_value, found.alpha)})"
    return f"两臂的优劣随切片反转{p}。" if reversal.shown else f"没有证明两臂的优劣随切片反转{p}。"


def beside_table(found: SlicesFound, *, binary: bool, chinese: bool) -> str:
    """What stands under a table of the slices: the change of sides; without a table, why there is none."""
    if found.reason is not None:
        return next(slices_zh(found, binary=binary) if chinese else slices_en(found, binary=binary))
    return reversal_zh(found) if chinese else reversal_en(found)


def _margin(found: SlicesFound, binary: bool, unit: str) -> str:
    size = found.no_worse_than
    return (f"{points(size)}{unit}" if binary else score(size)).lstrip("+")


def _count(found: SlicesFound, outcome: str) -> int:
    return sum(each.outcome == outcome for each in found.slices)


def _names(found: SlicesFound, outcome: str, between: str, more: Callable[[int], str], quoted: str) -> str:
    """The slices of an outcome by name, the first few."""
    those: Sequence[str] = [each.slice for each in found.slices if each.outcome == outcome]
    told = between.join(quoted.format(_short(each)) for each in those[:NAMED])
    return told + (more(len(those) - NAMED) if len(those) > NAMED else "")


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
