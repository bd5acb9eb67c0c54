"""Which process of a run gets which tests: pytest-xdist's groups, without its count of all that is done.

`LoadScopeScheduling` keeps every unit of work that it has handed out, and after every test it counts through all of
them how many are pending. Of seventeen thousand tests that was a minute in which the processes stood idle by turns.
"""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController


class GroupScheduling(LoadGroupScheduling):
    """Hands out groups and single tests, and forgets what is done."""

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Note that a process has run a test, and give it more work where it has little left."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit[nodeid] = True
        if all(unit.values()):
            del self.assigned_work[node][scope]
        self._reschedule(node)
