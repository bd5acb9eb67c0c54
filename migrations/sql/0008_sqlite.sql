-- plan_keys: a key is released with the verdict, or before it once the ledger says that somebody unblinded the plan;
-- and erased once the ledger says that.

DROP TRIGGER plan_keys_guard_update;

CREATE TRIGGER plan_keys_guard_update BEFORE UPDATE ON plan_keys
WHEN NOT (
  NEW.rowid = OLD.rowid AND NEW.preregistration_id IS OLD.preregistration_id
  AND NEW.public_key IS OLD.public_key
  AND CASE
    WHEN NEW.wrapped_key IS NULL THEN NEW.released_key IS NULL
      AND EXISTS (SELECT 1 FROM ledger_entries
                  WHERE preregistration_id = OLD.preregistration_id AND kind = 'erasure')
    ELSE NEW.wrapped_key IS OLD.wrapped_key AND OLD.released_key IS NULL AND NEW.released_key IS NOT NULL
      AND (
        (SELECT judged_at FROM preregistrations WHERE id = OLD.preregistration_id) IS NOT NULL
        OR (
          (SELECT state FROM preregistrations WHERE id = OLD.preregistration_id) IN ('locked', 'collecting', 'complete')
          AND EXISTS (SELECT 1 FROM ledger_entries
                      WHERE preregistration_id = OLD.preregistration_id AND kind = 'unblinding')
        )
      )
    END
)
BEGIN SELECT RAISE(ABORT, 'plan_keys: a key is released once, judged or unblinded on record, or erased on record'); END;
