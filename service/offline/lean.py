"""Parts of numpy that scipy takes up by name and no command uses: loaded when somebody asks for them after all."""

from __future__ import annotations

import importlib.util
import sys

PARTS = ("numpy.f2py", "numpy.testing", "numpy.ma", "numpy.ctypeslib", "numpy.polynomial")
"""scipy's namespace of arrays is `from numpy import *`, which loads them: a sixth of what a short command costs."""


def put_off() -> None:
    """Have these parts load at the first look into them; nothing is done where scipy is loaded already."""
    if "scipy" in sys.modules:
        return
    import numpy as np

    for name in PARTS:
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            continue
        spec.loader = importlib.util.LazyLoader(spec.loader)
        part = importlib.util.module_from_spec(spec)
        sys.modules[name] = part
        spec.loader.exec_module(part)
        setattr(np, name.partition(".")[2], part)
