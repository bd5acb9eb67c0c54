"""Reading a harness's file before the lock: here when the server is installed beside the client, else by the service.

The readers are the server's, and they are the same either way: what they say before the lock holds after it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from forelock.import_files import OneImport, Packed
from forelock.local import Local
from forelock.problem import FileFault, ForelockProblem
from forelock.server_package import offers

if TYPE_CHECKING:
    from forelock.client import Client

Json = dict[str, Any]


def read(
    client: Client | Local,
    one: OneImport,
    form: str,
    section: Json | None = None,
    arm: str | None = None,
    *,
    surveyed: bool = False,
) -> Json:
    """`survey`, and under a section `table` or the `problem` that an import would meet.

    Args:
        surveyed: the caller has the survey, so that nothing is looked through once more where the files are read here.

    Raises:
        ForelockProblem: the files are not what the format says.
        FileFault: they cannot be opened.
    """
    text = None if section is None else json.dumps(section)
    installed = next(iter(offers("forelock.readers")), None)
    if installed is None:
        if isinstance(client, Local):
            raise FileFault(
                "the server package that is installed here has no readers; name a service with --url"
            )
        query = {"format": form} | ({"section": text} if text else {}) | ({"arm": arm} if arm else {})
        with Packed(one) as body:
            return client.read_file(body, **query)
    read_paths = installed.load()
    try:
        answer: Json = read_paths([str(path) for path in one.paths], form, text, arm, surveyed=surveyed)
    except OSError as error:
        raise FileFault(f"{error.filename or one.name}: {error.strerror or 'cannot be read'}") from error
    if "survey" not in answer:
        problem = answer["problem"]
        raise ForelockProblem.from_document(problem | {"detail": f"{one.name}: {problem['detail']}"})
    return answer
