"""Chinese under the English: the pages of tests."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {}
