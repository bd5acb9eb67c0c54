"""The spool: what was appended reaches the service once, wherever a run, a sender or the service dies."""

from __future__ import annotations

import itertools
import json
import os
import stat
from pathlib import Path

import pytest

from forelock import FileFault
from forelock.spool import Head, Spool, folders, send, sending, writing
from forelock.spool.locks import write_all

HEAD = Head("results", {"arm": "A", "endpoint": "accuracy"})
N = 5


class Killed(BaseException):
    """The process is gone."""


def rows(value: float = 1.0, n: int = N):
    return [{"item_id": f"item-{number}", "replicate": 1, "value": value} for number in range(n)]


def write(spool: Spool, *found, head: Head = HEAD) -> None:
    writer = spool.writer("p1", head)
    for row in found:
        writer.append(row)
    writer.close()


class Fate:
    """Dies at one step of what touches the disk or the service: half of a write is done, or none of it."""

    def __init__(self, dies_at: int, torn: bool) -> None:
        self.dies_at, self.torn, self.step = dies_at, torn, 0

    def due(self) -> bool:
        self.step += 1
        return self.step == self.dies_at

    def write(self, descriptor: int, data: bytes) -> None:
        if self.due():
            os.write(descriptor, data[: len(data) // 2] if self.torn else data)
            raise Killed
        write_all(descriptor, data)


@pytest.mark.parametrize("torn", [False, True])
def test_nothing_is_lost_or_doubled_wherever_a_process_dies(tmp_path, keeper, monkeypatch, torn) -> None:
    monkeypatch.setattr(sending, "ROWS", 2)
    unlink, rename, take = Path.unlink, Path.rename, keeper._take
    for dies_at in itertools.count(1):
        spool, fate = Spool(tmp_path / str(dies_at)), Fate(dies_at, torn)
        keeper.rows.clear()
        appended = []

        def dying(call, before, fate=fate):
            def done(*arguments, **named):
                due = fate.due()
                if due and before:
                    raise Killed
                found = call(*arguments, **named)
                if due:
                    raise Killed
                return found

            return done

        with monkeypatch.context() as world:
            for module in (writing, folders):
                world.setattr(module, "write_all", fate.write)
            world.setattr(Path, "unlink", dying(unlink, torn))
            world.setattr(Path, "rename", dying(rename, torn))
            world.setattr(keeper, "_take", dying(take, torn))
            writer = None
            try:
                writer = spool.writer("p1", HEAD)
                for row in rows(1.0):
                    writer.append(row)
                    appended.append(row["item_id"])
                    if len(appended) == 3:
                        send(keeper.client(), spool)
                writer.close()
                send(keeper.client(), spool)
                died = False
            except Killed:
                died = True
                if writer is not None:
                    writer.close()  # as the system does for a process that is gone
        again = send(keeper.client(), spool)
        assert (again.refused, again.away) == ([], None)
        known = dict(keeper.rows)
        assert set(appended) <= {item_id for _, item_id, _ in known}
        write(spool, *rows(2.0))
        send(keeper.client(), spool)
        assert len(keeper.rows) == N
        assert all(keeper.rows["A", item_id, 1] == 1.0 for item_id in appended), dies_at
        assert not spool.files("p1")
        if not died:
            break
    assert dies_at > 15, "the steps were not reached"


def test_rows_are_readable_by_their_owner_alone(spool) -> None:
    write(spool, *rows())
    (path,) = spool.files("p1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_rows_wait_while_the_service_is_away_and_are_sent_later(spool, keeper) -> None:
    write(spool, *rows())
    keeper.away = True
    assert "does not answer" in (send(keeper.client(), spool).away or "")
    (waiting,) = spool.waiting()
    assert (waiting.record, waiting.rows, waiting.refused, waiting.written) == ("p1", N, (), False)
    keeper.away = False
    assert send(keeper.client(), spool).rows == N
    assert not list(spool.waiting())
    assert not spool.files("p1")


def test_batch_that_was_posted_goes_again_under_its_key(spool, keeper) -> None:
    write(spool, *rows())
    answered = keeper.client()
    keeper.away = True
    send(answered, spool)
    keeper.away = False
    (journal,) = [path for path in spool.of("p1").iterdir() if path.suffix == ".sent"]
    key = json.loads(journal.read_text().splitlines()[-1])["open"][0]["key"]
    send(keeper.client(), spool)
    assert keeper.keys == [key]


def test_file_of_a_run_that_goes_on_is_sent_and_stays(spool, keeper) -> None:
    writer = spool.writer("p1", HEAD)
    for row in rows():
        writer.append(row)
    assert send(keeper.client(), spool).rows == N
    assert len(spool.files("p1")) == 1
    writer.append({"item_id": "late", "replicate": 1, "value": 0.0})
    writer.close()
    assert send(keeper.client(), spool).rows == 1
    assert not spool.files("p1")


def test_refused_batch_stays_and_others_go_on(spool, keeper, monkeypatch) -> None:
    monkeypatch.setattr(sending, "ROWS", 2)
    keeper.refuses = {"item-0"}
    write(spool, *rows())
    sent = send(keeper.client(), spool)
    assert sent.rows == 3
    assert sent.refused == ["unknown_items: row 1: is no item of the population"]
    (waiting,) = spool.waiting()
    assert (waiting.rows, waiting.refused) == (2, tuple(sent.refused))
    assert len(keeper.posted) == 3
    send(keeper.client(), spool, again=False)
    assert len(keeper.posted) == 3
    assert spool.discard_refused("p1") == 2
    assert not spool.files("p1")


def test_refused_batch_that_is_taken_later_is_in(spool, keeper) -> None:
    keeper.refuses = {"item-0"}
    write(spool, *rows())
    send(keeper.client(), spool)
    keeper.refuses, keeper.answers = set(), {}
    assert send(keeper.client(), spool).rows == N


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_answer_that_is_not_about_the_rows_stops_and_keeps_them(spool, service, status) -> None:
    write(spool, *rows())
    service.will_refuse(status, "not_now")
    sent = send(service.client(), spool)
    assert (sent.away, sent.refused, sent.rows) == ("not_now: it is not_now", [], 0)
    (waiting,) = spool.waiting()
    assert (waiting.rows, waiting.refused) == (N, ())


def test_of_two_rows_of_an_item_the_first_counts(spool, keeper) -> None:
    write(spool, *rows(1.0), *rows(0.0))
    send(keeper.client(), spool)
    assert set(keeper.rows.values()) == {1.0}


def test_whole_run_is_one_import_once_it_has_ended(spool, keeper, monkeypatch) -> None:
    monkeypatch.setattr(sending, "ROWS", 1)
    run = {"task": "t", "results": {"config": {"model": "m"}}}
    writer = spool.writer("p1", Head("lm_eval", {"arm": "A"}, run, whole=True))
    writer.append({"doc": {"q": 1}, "acc": 1.0})
    writer.append({"doc": {"q": 2}, "acc": 0.0})
    assert send(keeper.client(), spool).rows == 0
    writer.close()
    assert send(keeper.client(), spool).rows == 2
    ((query, content),) = keeper.posted
    assert query == {"arm": "A", "format": "lm_eval", "on_duplicate": "skip"}
    assert content.startswith(b"PK")


def test_samples_of_inspect_go_as_a_piece_of_a_log(spool, keeper) -> None:
    head = Head("inspect", {}, {"task_args": {"arm": "A"}})
    write(spool, {"id": "a", "epoch": 1, "scores": {"m": {"value": float("nan")}}}, head=head)
    send(keeper.client(), spool)
    log = json.loads(keeper.posted[0][1])
    assert (log["status"], log["piece"], log["eval"]) == ("started", True, {"task_args": {"arm": "A"}})
    assert [each["id"] for each in log["samples"]] == ["a"]


def test_row_that_the_disk_does_not_take_leaves_nothing(spool, keeper, monkeypatch) -> None:
    writer = spool.writer("p1", HEAD)
    (first, second, *_) = rows()
    writer.append(first)

    def full(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as world:
        world.setattr(writing, "write_all", full)
        with pytest.raises(FileFault, match="No space left on device"):
            writer.append(second)
    writer.append(second)
    writer.close()
    assert send(keeper.client(), spool).rows == 2


def test_what_another_process_sends_is_left_to_it(spool, keeper) -> None:
    write(spool, *rows())
    (path,) = spool.files("p1")
    with folders.Spooled(path).sending() as alone:
        assert alone
        assert send(keeper.client(), spool).rows == 0
    assert send(keeper.client(), spool).rows == N


@pytest.mark.parametrize("record", ["", ".", ".."])
def test_id_that_is_no_name_of_a_folder_is_refused(spool, record) -> None:
    with pytest.raises(FileFault, match="no id of a preregistration"):
        spool.writer(record, HEAD)


def test_file_that_cannot_be_read_does_not_hold_up_others(spool, keeper) -> None:
    write(spool, *rows())
    (spool.of("p1") / "0.ndjson").write_text("{}\n")
    sent = send(keeper.client(), spool)
    assert sent.rows == N
    assert "is no file of a spool" in sent.refused[0]


def test_nothing_of_an_outcome_is_in_a_repr(spool) -> None:
    write(spool, {"item_id": "a", "replicate": 1, "value": 0.123})
    assert "0.123" not in repr(list(spool.waiting()))


def test_place_of_the_spool(tmp_path) -> None:
    assert folders.spool_folder({"FORELOCK_SPOOL": "/a/b"}) == Path("/a/b")
    assert folders.spool_folder({"XDG_STATE_HOME": "/s"}) == Path("/s/forelock/spool")
