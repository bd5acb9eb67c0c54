"""An experiment as files in a directory, which are read like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import httpx

from forelock.problem import FileFault
from forelock.trackers.asking import Asking, is_text, write_json
from forelock.trackers.providers import PROVIDERS


def fetch_experiment(
    name: str,
    experiment: str,
    directory: Path,
    address: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    transport: httpx.BaseTransport | None = None,
) -> list[Path]:
    """Write an experiment's pages into a directory; `address` stands for the tracker's own variable.

    Raises:
        FileFault: no such tracker, no key, no answer, or one that refuses or is not as documented.
    """
    provider = PROVIDERS.get(name)
    if provider is None:
        raise FileFault(f"no tracker is called so; read are {', '.join(PROVIDERS)}")
    if not is_text(experiment):
        raise FileFault("the experiment's name is no text")
    addresses = (environment[variable] for variable in provider.variables if environment.get(variable))
    where = address or next(addresses, provider.address)
    with Asking(where, provider.keys, transport=transport, **provider.sign(environment)) as asking:
        paths = []
        for file, document in provider.fetch(asking, experiment):
            path = directory / file
            lines = document if file.endswith(".jsonl") else [document]
            path.write_text("".join(f"{write_json(line)}\n" for line in lines), encoding="utf-8")
            paths.append(path)
    if not paths:
        raise FileFault("the tracker has nothing of this experiment")
    return paths
