"""Items that were pinned by their content, held against what a file says of them."""

from __future__ import annotations

from collections.abc import Sequence

from service.domain.faults import list_ids
from service.domain.plans.manifest import Manifest
from service.errors import Fault, InvalidData


def other_contents(
    item_ids: Sequence[str], contents: Sequence[str | None], positions: Sequence[int], manifest: Manifest
) -> tuple[list[str], int]:
    """Return items whose content is not the one that the manifest pins, and of how many the file does not tell it.

    Args:
        item_ids, contents: Of each row, the content None where the file does not have it; shape (n,).
        positions: Of each row's item in the manifest, -1 where it is not one of its; shape (n,).
        manifest: What was locked; one without hashes pins nothing.
    """
    if manifest.content_sha256 is None:
        return [], 0
    differing, unknown = dict[str, None](), set[int]()
    for item_id, content, position in zip(item_ids, contents, positions, strict=True):
        if position < 0:
            continue
        if content is None:
            unknown.add(position)
        elif manifest.content_sha256[position] != content:
            differing[item_id] = None
    return list(differing), len(unknown)


def not_comparable(others: Sequence[str]) -> InvalidData:
    """Return the refusal, which names items alone: neither what they say here or there, nor how they came out."""
    detail = (
        f"{len(others)} items have other content than the plan is locked to: {list_ids(others, len(others))}"
    )
    fix = (
        "import a run of the locked items; if it is meant, allow_different=content (--allow-different content) "
        "takes it, and the verdict says so"
    )
    return InvalidData(
        f"{detail}; {fix}", [Fault("items.content_sha256", detail, fix)], code="not_comparable"
    )
