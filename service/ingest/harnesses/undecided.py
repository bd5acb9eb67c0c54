"""What is said of samples that the plan does not decide about: what they have, and the line to write."""

from __future__ import annotations

UNDECIDED = {
    "error": ("have an error and a score", 'write "error": "error", "missing" or "score"'),
    "limit": ("were stopped at a limit", 'write "limit": "score", "missing" or "error"'),
    "invalidated": ("were invalidated", 'write "invalidated": "missing", "error" or "score"'),
    "edited": ("have a score that was edited by hand", 'write "edited": "original", "edited", "missing" or "error"'),
    "no_response": (
        "have a score for an answer that never came", 'write "no_response": "error", "missing" or "score"'
    ),
    "grader_failed": ("have a grader that failed", 'write "grader_failed": "error", "missing" or "score"'),
    "rounded": ("have a score that the file rounds", 'export JSON, or write "rounded": "take"'),
    "several": ("have several events", 'write "several": "first", "last", "any" or "all"'),
    "source": ("have several assessments of the name", 'write "source": "CODE", "LLM_JUDGE" or "HUMAN"'),
    "incomplete": ("are incomplete", 'write "incomplete": "missing", "error" or "failure"'),
    "empty_patch": ("have an empty patch", 'write "empty_patch": "failure", "missing" or "error"'),
    "infra_failure": ("failed for their infrastructure", 'write "infra_failure": "missing", "error" or "failure"'),
    "ambiguous_failure": (
        "failed ambiguously", 'write "ambiguous_failure": "failure", "missing" or "error"'
    ),
}  # fmt: skip
