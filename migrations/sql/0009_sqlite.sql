-- Guards of SQLite, in the manner of 0001.

-- stamps: insert-only, numbered without gaps for each checkpoint and kind; after one that waits for nothing comes none.

CREATE TRIGGER stamps_guard_insert BEFORE INSERT ON stamps
WHEN NEW.kind NOT IN ('rfc3161', 'opentimestamps')
  OR NEW.waiting NOT IN (0, 1)
  OR typeof(NEW.content) IS NOT 'blob' OR length(NEW.content) IS 0
  OR NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM stamps
                        WHERE size = NEW.size AND signer = NEW.signer AND kind = NEW.kind)
  OR EXISTS (SELECT 1 FROM stamps
             WHERE size = NEW.size AND signer = NEW.signer AND kind = NEW.kind
             AND (waiting = 0 OR note_sha256 IS NOT NEW.note_sha256 OR root IS NOT NEW.root))
  OR EXISTS (SELECT 1 FROM stamps WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'stamps: this is not the next stamp of its checkpoint'); END;

CREATE TRIGGER stamps_guard_update BEFORE UPDATE ON stamps
BEGIN SELECT RAISE(ABORT, 'stamps: rows are insert-only'); END;

CREATE TRIGGER stamps_guard_delete BEFORE DELETE ON stamps
BEGIN SELECT RAISE(ABORT, 'stamps: rows are insert-only'); END;
