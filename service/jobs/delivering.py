"""Sending what the outbox holds, beside the jobs: webhooks and pushes to trackers.

What is to be sent is a row that the transaction wrote which it tells of, so nothing is lost with a process. A sender
has a lease on the row; whoever dies leaves it to the next one, which sends it again under the same id. After a failure
it is tried later and later, until it is given up. Without webhooks and trackers there is no row and one read by index.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING

from service.domain.outgoing import seal_info
from service.domain.results import sealing
from service.errors import ForelockError, Unavailable
from service.store.database import clock
from service.store.database.engine import Database
from service.store.delivery import deliveries, trackers, webhooks
from service.store.delivery.deliveries import Due

if TYPE_CHECKING:
    from service.publish.http import Outgoing

log = logging.getLogger("forelock.deliveries")

LOOK_SECONDS = 2.0
"""Seconds between two looks at the outbox."""
SENDERS = 4
"""Deliveries that one runner sends side by side; the last of them is for a project that has none under way."""
LEASE = timedelta(minutes=5)
"""Longer than all calls of one delivery may take together."""
WAITS = tuple(timedelta(seconds=seconds) for seconds in (5, 30, 120, 600, 1800, 3600, 10_800, 21_600, 43_200))
UNSIGNED_WAIT, UNSIGNED_MOST = timedelta(seconds=2), timedelta(minutes=1)
"""How often, and how long at most, a message waits for a signed checkpoint of what it tells of."""
KEPT = timedelta(days=30)
"""How long a delivery that has ended is kept."""
TIDY_EVERY = 1800
"""Looks between two rounds of forgetting what ended long ago."""
GONE = 410
"""The status by which an address says that it takes no more."""
NOT_PUBLIC = "the address is not a public one; the operator lists others in FORELOCK_OUTGOING_ALLOW"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt."""

    delivered: bool
    status: int | None = None
    error: str | None = None
    final: bool = False
    """Asking again would not help."""


class Delivering:
    """Sends the deliveries that are due, some side by side, until it is told to stop."""

    def __init__(
        self,
        database: Database,
        outgoing: Callable[[], Outgoing],
        *,
        seal_private: bytes,
        public_url: str | None = None,
        gives_up_after: timedelta = timedelta(days=3),
        waits: Sequence[timedelta] = WAITS,
        unsigned_most: timedelta = UNSIGNED_MOST,
    ) -> None:
        """`outgoing` makes the client for everything that leaves; it is asked once there is something to send."""
        self._database, self._make, self._seal_private = database, outgoing, seal_private
        self._public_url, self._gives_up_after = public_url, gives_up_after
        self._waits, self._unsigned_most = waits, unsigned_most
        self._outgoing: Outgoing | None = None
        self._busy: Counter[str] = Counter()
        self._guard = threading.Lock()
        self._free = threading.Semaphore(SENDERS)

    def run(self, stopping: Event) -> None:
        """Send what is due until told to stop; a database that is away is waited for."""
        looks = 0
        while not stopping.is_set():
            try:
                while not stopping.is_set() and self._start():
                    pass
                looks += 1
                if looks % TIDY_EVERY == 1:
                    self.tidy()
            except Unavailable:
                log.warning("the database is away: deliveries wait")
            except Exception as error:  # noqa: BLE001 - whatever it is, the next look is due
                _log_error(error)
            stopping.wait(LOOK_SECONDS)

    def step(self) -> bool:
        """Send one delivery in this thread; False when none is due."""
        due = self._claim()
        if due is None:
            return False
        self._deliver(due)
        return True

    def tidy(self) -> int:
        """Delete the deliveries that ended more than `KEPT` ago; returns how many."""
        with self._database.write() as session:
            return deliveries.forget_old(session, clock.read_now(session) - KEPT)

    def _start(self) -> bool:
        """Hand a delivery to a thread of its own; False when none is due, or all senders are busy."""
        if not self._free.acquire(blocking=False):
            return False
        due = None
        try:
            due = self._claim()
        finally:
            if due is None:
                self._free.release()
        if due is None:
            return False
        with self._guard:
            self._busy[due.project_id] += 1
        # Not waited for at the end: a call to the outside may take its time, and what is cut off is sent again.
        threading.Thread(target=self._hold, args=(due,), name="delivery", daemon=True).start()
        return True

    def _hold(self, due: Due) -> None:
        """Send one delivery, and give the sender's place back whatever becomes of it."""
        try:
            self._deliver(due)
        except Exception as error:  # noqa: BLE001 - the lease runs out, and it is sent again
            _log_error(error)
        finally:
            with self._guard:
                self._busy[due.project_id] -= 1
            self._free.release()

    def _claim(self) -> Due | None:
        """Claim a delivery that is due, if there is one.

        It looks in a reading transaction first, which holds up no writer.
        """
        with self._database.read() as session:
            if not deliveries.has_due(session, clock.read_now(session)):
                return None
        with self._guard:
            busy = [project for project, count in self._busy.items() if count]
            # The last sender is kept for a project that has none under way: a slow target of one holds up nobody
            # else.
            is_last = sum(self._busy.values()) >= SENDERS - 1
        with self._database.write() as session:
            now = clock.read_now(session)
            return deliveries.claim(session, busy=busy, others_only=is_last, now=now, lease=LEASE)

    def _deliver(self, due: Due) -> None:
        """Send one delivery, and store that it arrived, is given up, or when it is tried again."""
        if not self._is_ready(due):
            return
        try:
            outcome = self._post_webhook(due) if due.channel == "webhook" else self._push_to_mlflow(due)
        except Unavailable:
            raise
        except ForelockError as error:  # a record that was altered is told to nobody
            outcome = Outcome(delivered=False, error=f"it cannot be made: {error.title.lower()}", final=True)
        except Exception as error:  # noqa: BLE001 - else it would be tried for ever
            _log_error(error)
            outcome = Outcome(delivered=False, error="it cannot be made; the runner's log says more")
        with self._database.write() as session:
            now = clock.read_now(session)
            # Guarded by the number of the attempt: where the lease ran out and another sends it by now, nothing is
            # written.
            if outcome.delivered or outcome.final or now - due.asked_at >= self._gives_up_after:
                deliveries.finish(
                    session,
                    due,
                    delivered=outcome.delivered,
                    status=outcome.status,
                    error=outcome.error,
                    now=now,
                )
                if not outcome.delivered:
                    log.warning("delivery %s is given up: %s", due.id, outcome.error)
                return
            # Attempts count from 1, this one included.
            wait = self._waits[min(due.attempts, len(self._waits)) - 1]
            problem = outcome.error or ""
            deliveries.fail(session, due, status=outcome.status, error=problem, now=now, wait=wait)

    def _is_ready(self, due: Due) -> bool:
        """Tell whether what the delivery tells of is in a signed checkpoint, or has waited for one long enough.

        One that is not ready is put off.
        """
        from service.actions.delivery.messages import is_signed

        with self._database.read() as session:
            signed, now = is_signed(session, due), clock.read_now(session)
        if signed or due.body is not None or now - due.created_at >= self._unsigned_most:
            return True
        with self._database.write() as session:
            deliveries.put_off(session, due, until=now + UNSIGNED_WAIT)
        return False

    def _client(self) -> Outgoing:
        with self._guard:
            if self._outgoing is None:
                self._outgoing = self._make()
            return self._outgoing

    def _post_webhook(self, due: Due) -> Outcome:
        """Post the message of a webhook, signed with its secrets."""
        from service.actions.delivery.messages import format_webhook
        from service.publish.faults import Forbidden, OutgoingFault
        from service.publish.webhooks import post

        with self._database.read() as session:
            signing = webhooks.read_signing(session, due.project_id, due.target)
            now = clock.read_now(session)
            body = due.body
            if body is None and signing is not None:
                body = format_webhook(session, due, self._public_url, signing.format)
        if signing is None or body is None:
            return Outcome(delivered=False, error="the webhook is gone", final=True)
        # Kept before it is sent: a repetition after a death has the same bytes under the same id.
        if due.body is None:
            with self._database.write() as session:
                deliveries.keep_body(session, due, body)
        sealed = [signing.secret]
        if (
            signing.previous is not None
            and signing.previous_until is not None
            and now < signing.previous_until
        ):
            sealed.append(signing.previous)
        info = seal_info("webhook", due.project_id, due.target)
        secrets = [sealing.unseal(secret, self._seal_private, info).decode() for secret in sealed]
        try:
            status = post(self._client(), signing.url, secrets, due.id, int(now.timestamp()), body)
        except Forbidden:
            return Outcome(delivered=False, error=NOT_PUBLIC)
        except OutgoingFault as fault:
            return Outcome(delivered=False, error=str(fault))
        if 200 <= status < 300:
            return Outcome(delivered=True, status=status)
        reason = "the address says that it is gone" if status == GONE else f"the address answers {status}"
        return Outcome(delivered=False, status=status, error=reason, final=status == GONE)

    def _push_to_mlflow(self, due: Due) -> Outcome:
        """Push what is known of a record to a run of the project's MLflow."""
        from service.actions.delivery.messages import compose_push
        from service.publish.faults import Forbidden, OutgoingFault
        from service.publish.mlflow import MlflowServer, RunGone

        with self._database.read() as session:
            access = trackers.read_access(session, due.project_id, trackers.MLFLOW)
            linked = due.target in trackers.read_run_ids(session, due.preregistration_id or "")
            push = compose_push(session, due, self._public_url) if access is not None and linked else None
        if access is None or push is None:
            reason = (
                "the run is not linked any more" if access else "the project has no MLflow server any more"
            )
            return Outcome(delivered=False, error=reason, final=True)
        authorization = None
        if access.secret is not None:
            info = seal_info("tracker", due.project_id, trackers.MLFLOW)
            authorization = sealing.unseal(access.secret, self._seal_private, info).decode()
        try:
            MlflowServer(access.url, self._client(), authorization).push(due.target, push)
        except Forbidden:
            return Outcome(delivered=False, error=NOT_PUBLIC)
        except RunGone as fault:
            return Outcome(delivered=False, error=str(fault), final=True)
        except OutgoingFault as fault:
            return Outcome(delivered=False, error=str(fault))
        return Outcome(delivered=True)


def _log_error(error: Exception) -> None:
    """Log the kind and the place of an error, not its text: that may hold an address or what was answered."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    log.error("%s at %s:%s", type(error).__name__, place.filename, place.lineno)
