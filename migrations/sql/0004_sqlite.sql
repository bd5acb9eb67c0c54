-- The head grows by the leaves that were just added. Their own guard lets them in without gaps, one by one.

DROP TRIGGER ledger_head_guard_update;

CREATE TRIGGER ledger_head_guard_update BEFORE UPDATE ON ledger_head
WHEN NEW.id IS NOT OLD.id OR NEW.size <= OLD.size
  OR NEW.size IS NOT (SELECT max(sequence) + 1 FROM ledger_entries)
BEGIN SELECT RAISE(ABORT, 'ledger_head: the log grows by the leaves that were just added'); END;
