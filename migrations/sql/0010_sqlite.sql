-- Guards of SQLite, in the manner of 0001: INSERT guards also refuse a row whose key or rowid is there already.

-- imports: insert-only, numbered without gaps, on a record that has taken results.

CREATE TRIGGER imports_guard_insert BEFORE INSERT ON imports
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '')
     NOT IN ('collecting', 'complete')
  OR NEW.number IS NOT
     (SELECT coalesce(max(number), 0) + 1 FROM imports WHERE preregistration_id = NEW.preregistration_id)
  OR EXISTS (SELECT 1 FROM imports WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'imports: the record takes no results, or the number is not the next one'); END;

CREATE TRIGGER imports_guard_update BEFORE UPDATE ON imports
BEGIN SELECT RAISE(ABORT, 'imports: rows are insert-only'); END;

CREATE TRIGGER imports_guard_delete BEFORE DELETE ON imports
BEGIN SELECT RAISE(ABORT, 'imports: rows are insert-only'); END;
