"""Group commit: batches that wait are stored together, and each gets the answer that it would get alone.

What an answer looks like is the caller's to say: it is stored with the batch, for a request that is repeated.

While one group is committed the next one gathers, so a lone batch waits for nobody. A batch is on the
disk before its answer is given out.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from service.actions.results.posting import BatchReceipt, Group, GroupReads, Place, Submission
from service.domain.moment import Moment
from service.errors import ForelockError, Unavailable
from service.store.database import clock, idempotency
from service.store.database.engine import Database
from service.store.database.pipeline import reading, together
from service.store.ledger import ledger
from service.store.results import turns
from service.telemetry.logs import ERRORS, location

MOST_POSTS = 128
MOST_BYTES = 32 * 2**20
"""Of one group: it holds the database for as long as it takes."""
LARGE_BYTES = 4 * 2**20
"""A batch that takes this much and more is not gathered with others: they would wait for it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a batch is answered; `repeated` when the same request was answered so before."""

    response: idempotency.StoredResponse
    repeated: bool = False


Renderer = Callable[[BatchReceipt], idempotency.StoredResponse]


@dataclass(slots=True, eq=False)
class Waiting:
    """A batch that waits for its turn, and whom its answer goes to.

    It is read when its turn comes: of two threads that read at once, Python lets only one at a time
    go on, and the changes from one to the other take longer than the reading.
    """

    place: Place
    size: int
    """Bytes that it takes while it is stored; an upper guess before it is read."""
    alone: bool
    """It goes to its record's own lane, whatever its size."""
    read: Callable[[], Submission]
    """May refuse it by what it raises."""
    answered: Future[Answer] = field(default_factory=Future)
    _submission: Submission | None = None

    @property
    def needs_lane(self) -> bool:
        """True when it cannot go with others."""
        return self.alone or self.size >= LARGE_BYTES

    def begin(self) -> bool:
        """Return False when nobody waits for the answer any more, and nothing has begun."""
        return self.answered.running() or self.answered.set_running_or_notify_cancel()

    def submission(self) -> Submission:
        """Return the batch with its rows placed, which is read when it is first asked for."""
        if self._submission is None:
            self._submission = self.read()
            self.size = self._submission.size
        return self._submission


Outcome = Answer | ForelockError


@dataclass(slots=True)
class Lane:
    """Posts that wait for their turn, by project: projects take turns, so none waits for all of another's."""

    record: Place | None
    waiting: dict[str, deque[Waiting]] = field(default_factory=dict)
    running: bool = False

    def add(self, post: Waiting) -> None:
        """Behind those of its project that wait."""
        self.waiting.setdefault(post.place[0], deque()).append(post)

    def take(self) -> list[Waiting]:
        """Take the posts that are written in the next transaction."""
        group: list[Waiting] = []
        size = 0
        while self.waiting and len(group) < MOST_POSTS:
            project_id, queue = next(iter(self.waiting.items()))
            if group and size + queue[0].size > MOST_BYTES:
                break
            post = queue.popleft()
            del self.waiting[project_id]
            if queue:  # its next turn comes after everybody else's
                self.waiting[project_id] = queue
            group.append(post)
            size += post.size
        return group


class Posting:
    """The batches that wait in this process, and the threads that store them.

    One lane takes what comes and waits for no record. A lane of its record's own has what another transaction
    holds, a large batch, and a plan whose looks have to be found due. Such lanes take turns. Common lanes of several
    processes take turns too, so none finds a record held by another's group.
    """

    def __init__(
        self, database: Database, render: Renderer, queued: Callable[[], None], *, lanes: int
    ) -> None:
        """`render` makes the answers, `queued` is called when a job was queued; `lanes` of records run side by side."""
        self._database = database
        self._render = render
        self._queued = queued
        self._most_lanes = lanes
        self._guard = Lock()
        self._common = Lane(None)
        self._lanes: dict[Place, Lane] = {}
        self._committer, self._waiters = self._threads()

    def submit(self, post: Waiting) -> Future[Answer]:
        """Put a batch in its lane; its answer comes when it is stored or refused."""
        self._enter(post)
        return post.answered

    def close(self) -> None:
        """Store what waits, and let the threads go. Who posts afterwards gets others."""
        busy = True
        while busy:
            with self._guard:
                ending = self._committer, self._waiters
                self._committer, self._waiters = self._threads()
                busy = self._common.running or bool(self._lanes)
            for threads in ending:
                threads.shutdown()

    def _threads(self) -> tuple[ThreadPoolExecutor, ThreadPoolExecutor]:
        return ThreadPoolExecutor(1, "posting"), ThreadPoolExecutor(self._most_lanes, "posting-record")

    def _enter(self, post: Waiting) -> None:
        """Put a batch in its record's lane where there is one or has to be one, else in the common one.

        Behind what waits in its record's lane even if it could go with others: a record's batches keep their order.
        """
        with self._guard:
            if post.needs_lane:
                self._lanes.setdefault(post.place, Lane(post.place))
            lane = self._lanes.get(post.place, self._common)
            lane.add(post)
            if not lane.running:
                self._start(lane)

    def _start(self, lane: Lane) -> None:
        """Have a thread store the lane's next group. Hold the guard: a lane runs in one thread at a time."""
        threads = self._committer if lane is self._common else self._waiters
        threads.submit(self._run, lane)
        lane.running = True

    def _run(self, lane: Lane) -> None:
        """Store one group, and come again while somebody waits: after the lanes that wait for a thread."""
        with self._guard:
            group = lane.take()
        queued = False
        try:
            for readable in _split_by_bytes(self._read(group, lane)):
                queued |= self._settle(readable, wait=lane.record is not None)
            if queued:  # last: nobody's answer hangs on it
                self._queued()
        finally:
            with self._guard:
                self._go_on(lane)

    def _read(self, group: Iterable[Waiting], lane: Lane) -> Iterator[Waiting]:
        """Yield those that can be stored here: the others are refused, or have gone to a lane of their record's own."""
        for post in group:
            if not post.begin():
                continue
            try:
                post.submission()
            except Exception as error:  # noqa: BLE001  # whatever it is, it is this one's answer
                post.answered.set_exception(error)
                continue
            if lane.record is None and post.needs_lane:
                self._enter(post)
            else:
                yield post

    def _go_on(self, lane: Lane) -> None:
        """Start the lane's next group, or let the lane end. Hold the guard."""
        if lane.record is not None:
            self._send_back(lane)
        if lane.waiting:
            self._start(lane)
            return
        lane.running = False
        if lane.record is not None:
            del self._lanes[lane.record]

    def _send_back(self, lane: Lane) -> None:
        """What came to a record's lane because there was one gathers with the others again.

        Else a lane never ends while posts keep coming, and what its record holds up makes lanes elsewhere.
        """
        waiting = [post for queue in lane.waiting.values() for post in queue]
        if any(post.needs_lane for post in waiting):  # a record's batches keep their order
            return
        lane.waiting.clear()
        for post in waiting:
            self._common.add(post)
        if waiting and not self._common.running:
            self._start(self._common)

    def _settle(self, posts: Sequence[Waiting], *, wait: bool) -> bool:
        """Give every post its answer, or a lane in which its record is waited for; true when a job was queued."""
        try:
            outcomes, queued = store(
                self._database, [post.submission() for post in posts], self._render, wait=wait
            )
        except Exception as error:  # noqa: BLE001  # whatever it is, everybody gets an answer
            return self._answer_failure(posts, error, wait=wait)
        for post, outcome in zip(posts, outcomes, strict=True):
            if outcome is None:
                post.alone = True
                self._enter(post)
            elif isinstance(outcome, Answer):
                post.answered.set_result(outcome)
            else:
                post.answered.set_exception(outcome)
        return queued

    def _answer_failure(self, posts: Sequence[Waiting], error: Exception, *, wait: bool) -> bool:
        """Nothing was stored. A database that is away is away for all; any other failure may be one post's."""
        if len(posts) == 1:
            posts[0].answered.set_exception(error)
        elif isinstance(error, Unavailable):
            for post in posts:
                post.answered.set_exception(copy.copy(error))  # one each: a raised error keeps its traceback
        else:
            ERRORS.error("a group of batches failed; each is tried alone", extra={"fields": location(error)})
            queued = [self._settle([post], wait=wait) for post in posts]
            return any(queued)
        return False


def _split_by_bytes(posts: Iterable[Waiting]) -> Iterator[list[Waiting]]:
    """Groups of at most `MOST_BYTES`. A lane took them by a guess of their size; now that they are read it is known."""
    group: list[Waiting] = []
    size = 0
    for post in posts:
        if group and size + post.size > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(post)
        size += post.size
    if group:
        yield group


def store(
    database: Database, submissions: Sequence[Submission], render: Renderer, *, wait: bool
) -> tuple[list[Outcome | None], bool]:
    """Store batches in one transaction, as if they came one after the other; and say whether a job was queued.

    None: the record is held by another transaction, and `wait` was not asked for.
    """
    with database.write() as session:
        with reading(session) as questions:
            if not wait:
                turns.ask(questions)
            asked_now = clock.ask_now(questions)
            asked_earlier = idempotency.ask(questions, [one.attempt for one in submissions])
            reads = GroupReads(questions, submissions, wait=wait)
        now, earlier = asked_now.get(), asked_earlier.get()
        group = Group(session, reads, Moment(now))
        taken: dict[idempotency.Scope, Submission] = {}
        outcomes: dict[Submission, Outcome] = {}
        for submission in submissions:
            attempt = submission.attempt
            try:
                if attempt.scope in earlier:
                    outcomes[submission] = Answer(earlier[attempt.scope].answer_to(attempt), repeated=True)
                elif attempt.scope in taken:
                    attempt.require_same(taken[attempt.scope].attempt.fingerprint)
                elif not group.is_held(submission):
                    group.take(submission)
                    taken[attempt.scope] = submission
            except ForelockError as error:
                # the traceback would hold this frame, and with it everybody's rows, until the collector comes
                outcomes[submission] = error.with_traceback(None)
        stored = group.store()
        responses = dict(zip(taken, map(render, stored.accepted), strict=True))
        with together(session):
            if stored.leaves is not None:
                ledger.add(session, stored.leaves)
            # With the batches, or not at all: an answer without them would tell a retry that they are in.
            idempotency.keep(session, [(taken[scope].attempt, responses[scope]) for scope in taken], now)
    # Only now is any of it on the disk: until the commit nobody may be told that a batch was taken.
    for submission in submissions:
        scope = submission.attempt.scope
        if submission not in outcomes and scope in responses:
            outcomes[submission] = Answer(responses[scope], repeated=taken[scope] is not submission)
    return [outcomes.get(submission) for submission in submissions], stored.queued
