"""Requests with many numbers."""

from __future__ import annotations

WIDE = "item_id,a,b,c\n" + "\n".join(f"{i},{i % 2},{int(i % 3 > 0)},{int(i % 7 > 0)}" for i in range(24))
