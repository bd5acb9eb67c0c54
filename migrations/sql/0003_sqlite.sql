-- Guards of SQLite, in the manner of 0001: INSERT guards also refuse a row whose rowid is there already.

-- deviations: insert-only, numbered without gaps, on a locked record that is not withdrawn.

CREATE TRIGGER deviations_guard_insert BEFORE INSERT ON deviations
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '')
     NOT IN ('locked', 'collecting', 'complete', 'judged')
  OR NEW.number IS NOT
     (SELECT coalesce(max(number), 0) + 1 FROM deviations WHERE preregistration_id = NEW.preregistration_id)
  OR EXISTS (SELECT 1 FROM deviations WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'deviations: the record takes no deviations, or the number is not the next one'); END;

CREATE TRIGGER deviations_guard_update BEFORE UPDATE ON deviations
BEGIN SELECT RAISE(ABORT, 'deviations: rows are insert-only'); END;

CREATE TRIGGER deviations_guard_delete BEFORE DELETE ON deviations
BEGIN SELECT RAISE(ABORT, 'deviations: rows are insert-only'); END;

-- deviation_decisions: insert-only, numbered without gaps for each deviation.

CREATE TRIGGER deviation_decisions_guard_insert BEFORE INSERT ON deviation_decisions
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '')
     NOT IN ('locked', 'collecting', 'complete', 'judged')
  OR NEW.number IS NOT
     (SELECT coalesce(max(number), 0) + 1 FROM deviation_decisions
      WHERE preregistration_id = NEW.preregistration_id AND deviation = NEW.deviation)
  OR NOT EXISTS (SELECT 1 FROM deviations
                 WHERE preregistration_id = NEW.preregistration_id AND number = NEW.deviation)
  OR EXISTS (SELECT 1 FROM deviation_decisions WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'deviation_decisions: there is nothing to decide, or the number is not the next one'); END;

CREATE TRIGGER deviation_decisions_guard_update BEFORE UPDATE ON deviation_decisions
BEGIN SELECT RAISE(ABORT, 'deviation_decisions: rows are insert-only'); END;

CREATE TRIGGER deviation_decisions_guard_delete BEFORE DELETE ON deviation_decisions
BEGIN SELECT RAISE(ABORT, 'deviation_decisions: rows are insert-only'); END;
