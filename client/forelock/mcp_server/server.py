"""The MCP server: which tools there are, and what each takes. No postponed annotations: the SDK reads these."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from forelock.mcp_server.questions import Answer, Questions, Refused, refusals
from forelock.mcp_server.records import Records

F = TypeVar("F", bound=Callable[..., Any])
INSTRUCTIONS = """\
Forelock says what evaluation results show. score, gate, rank and verify read files in the folder that this server was
started in. plan_lint, progress and verdict ask a service about a preregistration by its id. An answer without a locked
plan is exploratory: say so. Before the verdict of a locked plan nobody is told an outcome, and nothing here tells one.
"""
READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
LOCKS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)

Files = Annotated[
    list[str], Field(min_length=1, description="Result files or folders of a harness, or tables.")
]
Range = Annotated[str | None, Field(description="The least and the greatest score there can be: LOW..HIGH.")]
Missing = Annotated[
    Literal["exclude_pair", "fail"],
    Field(description="Items without a result: leave out, or count as failed."),
]
Id = Annotated[str, Field(min_length=1, description="The id of the preregistration.")]


class Reading(BaseModel):
    """How files are read, whatever is asked of them."""

    cluster: str | None = Field(None, description="What items share in the files, such as a repository.")
    slice: str | None = Field(None, description="Also answer for every value of this column.")
    suite: str | None = Field(None, description="The column that says which task of a suite an item is of.")
    metric: str | None = Field(None, description="Which measure, where the files have several.")
    lower: bool | None = Field(None, description="True: lower values are better; left out: as the files say.")
    format: str | None = Field(None, description="What wrote the files, where it cannot be told.")
    set: list[str] = Field([], description="Lines FIELD=VALUE of the import section that a refusal names.")


class Score(BaseModel):
    """How sure one system's score is, and whether it is enough."""

    files: Files
    at_least: str | None = Field(None, description="What it should reach: 95%, 0.95, or of scores 3.5.")
    at_most: str | None = Field(None, description="What it should not exceed, where low is good.")
    arm: str | None = Field(None, description="Which system, where a file holds several.")
    range: Range = None
    missing: Missing = "exclude_pair"


class Gate(BaseModel):
    """Whether a candidate is better than the baseline, no worse, worse, or cannot be told from it."""

    files: list[str] = Field(
        min_length=1, max_length=2, description="The baseline's file or folder, then the candidate's."
    )
    margin: str | None = Field(None, description="The loss that would be accepted: 2pp, or 0.5score.")
    arms: str | None = Field(None, description="BASE,CAND where a file holds several systems.")
    unpaired: bool = Field(False, description="The files are of different items.")
    range: Range = None
    missing: Missing = "exclude_pair"


class Rank(BaseModel):
    """How several systems stand on the same items, and which of them can be told apart."""

    files: Files
    arms: str | None = Field(None, description="A,B,…: which systems (left out: all).")
    missing: Missing = "exclude_pair"


class Confirmation(BaseModel):
    """What a person answers before a plan is locked."""

    lock: bool = Field(description="Lock this plan for good")


class Draft(BaseModel):
    """What is to be locked, as the person is asked."""

    question: str
    etag: str


def make_server(
    questions: Questions, records: Records, check: Callable[..., Answer], *, locks: bool
) -> MCPServer:
    """Return a server with the tools that read, and the lock where that is allowed.

    Args:
        questions: to result files.
        records: of a service.
        check: a bundle's file, kept checkpoints and keys in, what was checked out.
        locks: whether plans may be locked, each after a person was asked.
    """
    from importlib.metadata import version

    server: MCPServer = MCPServer(
        "forelock", instructions=INSTRUCTIONS, version=version("forelock"), log_level="WARNING"
    )
    for options in (Score, Gate, Rank):
        _add_question(server, questions, options)
    _add_records(server, records)

    @_tool(server)
    def verify(
        bundle: Annotated[str, Field(description="The bundle's file.")],
        checkpoints: Annotated[list[str], Field(description="Files of checkpoints that you kept.")] = [],  # noqa: B006
        keys: Annotated[
            list[str], Field(description="Keys that you trust to sign the ledger: NAME+ID+BASE64.")
        ] = [],  # noqa: B006
    ) -> CallToolResult:
        """Check a bundle without its service: hashes, proofs and signatures, and the verdict judged again."""
        with refusals():
            kept = [str(questions.path(name)) for name in checkpoints]
            answer = check(str(questions.path(bundle)), kept, keys)
        return _as_result(answer)

    if locks:
        _add_lock(server, records)
    return server


def _add_question(server: MCPServer, questions: Questions, options: type[BaseModel]) -> None:
    """Add a tool by the name of its model, which takes the model's members and those of `Reading`."""
    name, fields = options.__name__.lower(), options.model_fields | Reading.model_fields

    def ask(**given: Any) -> CallToolResult:
        files = given.pop("files")
        return _as_result(questions.answer(name, files, given))

    ask.__name__, ask.__doc__ = name, options.__doc__
    # the SDK makes a tool's schema of its signature, with a member a parameter: a model as one parameter would nest it
    parameters = [
        inspect.Parameter(
            member, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[field.annotation, field]
        )
        for member, field in fields.items()
    ]
    ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    _tool(server)(ask)


def _add_records(server: MCPServer, records: Records) -> None:
    """Add the tools that read a record: its lint, its progress, its verdict."""

    @_tool(server)
    def plan_lint(id: Id) -> CallToolResult:
        """Return the gaps of a plan: errors stop its lock, warnings have to be acknowledged."""
        return _as_result(records.lint(id))

    @_tool(server)
    def progress(id: Id) -> CallToolResult:
        """Return how many of the planned results are in. Never what they are."""
        return _as_result(records.progress(id))

    @_tool(server)
    def verdict(id: Id) -> CallToolResult:
        """Return what the locked rules say, once every planned result is in."""
        return _as_result(records.verdict(id))


def _add_lock(server: MCPServer, records: Records) -> None:
    """Add the tool that locks a plan once a person, asked through the client, has agreed."""

    def read_draft(id: str, context: Context) -> Draft:
        capabilities = context.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            raise ToolError(
                f"a person has to agree, and this client cannot ask one: run `forelock lock {id}` yourself"
            )
        try:
            question, etag = records.to_lock(id)
        except Refused as refusal:
            raise ToolError(str(refusal)) from None
        return Draft(question=question, etag=etag)

    def ask_person(draft: Annotated[Draft, Resolve(read_draft)]) -> Elicit[Confirmation]:
        return Elicit(draft.question, Confirmation)

    @_tool(server, LOCKS)
    def lock(
        id: Id,
        draft: Annotated[Draft, Resolve(read_draft)],
        said: Annotated[ElicitationResult[Confirmation], Resolve(ask_person)],
        acknowledge: Annotated[list[str], Field(description="Codes of lint warnings taken note of.")] = [],  # noqa: B006
    ) -> CallToolResult:
        """Lock a plan for good. A person is shown the plan, and has to agree."""
        if not isinstance(said, AcceptedElicitation) or not said.data.lock:
            raise Refused(
                "nothing was locked: the person who was asked did not agree. Change the plan, or ask later"
            )
        return _as_result(records.lock(id, acknowledge, draft.etag))


def _tool(server: MCPServer, annotations: ToolAnnotations = READS) -> Callable[[F], F]:
    """Add a function as a tool that refuses in words."""

    def add(function: F) -> F:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> CallToolResult:
            try:
                result: CallToolResult = function(*arguments, **named)
            except Refused as refusal:  # the SDK would put its own words before those of a ToolError
                return CallToolResult(content=[TextContent(type="text", text=str(refusal))], is_error=True)
            return result

        server.add_tool(called, description=function.__doc__, annotations=annotations)
        return function

    return add


def _as_result(answer: Answer) -> CallToolResult:
    readable, document = answer
    return CallToolResult(content=[TextContent(type="text", text=readable)], structured_content=document)
