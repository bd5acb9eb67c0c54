-- Guards of SQLite, in the manner of 0001.

-- ledger_nodes: insert-only, one row for every leaf that makes a subtree whole, which is every second one.

CREATE TRIGGER ledger_nodes_guard_insert BEFORE INSERT ON ledger_nodes
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence) + 2, 1) FROM ledger_nodes)
  OR (NEW.sequence > (SELECT max(sequence) FROM ledger_entries)) IS NOT 0
  OR typeof(NEW.hashes) IS NOT 'blob' OR length(NEW.hashes) % 32 IS NOT 0
  OR 1 << (length(NEW.hashes) / 32) IS NOT (NEW.sequence + 1) & -(NEW.sequence + 1)
BEGIN SELECT RAISE(ABORT, 'ledger_nodes: these are not the hashes that the next leaf makes whole'); END;

CREATE TRIGGER ledger_nodes_guard_update BEFORE UPDATE ON ledger_nodes
BEGIN SELECT RAISE(ABORT, 'ledger_nodes: rows are insert-only'); END;

CREATE TRIGGER ledger_nodes_guard_delete BEFORE DELETE ON ledger_nodes
BEGIN SELECT RAISE(ABORT, 'ledger_nodes: rows are insert-only'); END;

-- ledger_head: it grows when the leaves that were just added have their hashes.

DROP TRIGGER ledger_head_guard_update;

CREATE TRIGGER ledger_head_guard_update BEFORE UPDATE ON ledger_head
WHEN NEW.id IS NOT OLD.id OR NEW.size <= OLD.size
  OR NEW.size IS NOT (SELECT max(sequence) + 1 FROM ledger_entries)
  OR NEW.size / 2 * 2 IS NOT (SELECT coalesce(max(sequence) + 1, 0) FROM ledger_nodes)
BEGIN SELECT RAISE(ABORT, 'ledger_head: the log grows by the leaves that were just added'); END;

-- ledger_signers: insert-only, numbered without gaps, each but the first by a leaf that says so.

CREATE TRIGGER ledger_signers_guard_insert BEFORE INSERT ON ledger_signers
WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 1) FROM ledger_signers)
  OR (NEW.sequence IS NULL) IS NOT (NEW.number = 1)
  OR (NEW.sequence IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ledger_entries
      WHERE sequence = NEW.sequence AND kind IN ('key_rotation', 'resumption')))
BEGIN SELECT RAISE(ABORT, 'ledger_signers: the next signer follows from a leaf'); END;

CREATE TRIGGER ledger_signers_guard_update BEFORE UPDATE ON ledger_signers
BEGIN SELECT RAISE(ABORT, 'ledger_signers: rows are insert-only'); END;

CREATE TRIGGER ledger_signers_guard_delete BEFORE DELETE ON ledger_signers
BEGIN SELECT RAISE(ABORT, 'ledger_signers: rows are insert-only'); END;

-- ledger_checkpoints: insert-only, by the last signer, each larger than those before and no larger than the log.

CREATE TRIGGER ledger_checkpoints_guard_insert BEFORE INSERT ON ledger_checkpoints
WHEN (NEW.size > (SELECT size FROM ledger_head)) IS NOT 0
  OR (NEW.size >= (SELECT coalesce(max(size), 0) FROM ledger_checkpoints)) IS NOT 1
  OR NEW.signer IS NOT (SELECT max(number) FROM ledger_signers)
  OR EXISTS (SELECT 1 FROM ledger_checkpoints WHERE rowid = NEW.rowid
             OR (size = NEW.size AND signer = NEW.signer))
BEGIN SELECT RAISE(ABORT, 'ledger_checkpoints: the next one is of a larger log, by who signs now'); END;

CREATE TRIGGER ledger_checkpoints_guard_update BEFORE UPDATE ON ledger_checkpoints
BEGIN SELECT RAISE(ABORT, 'ledger_checkpoints: rows are insert-only'); END;

CREATE TRIGGER ledger_checkpoints_guard_delete BEFORE DELETE ON ledger_checkpoints
BEGIN SELECT RAISE(ABORT, 'ledger_checkpoints: rows are insert-only'); END;
