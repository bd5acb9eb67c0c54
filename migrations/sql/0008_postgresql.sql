-- plan_keys: a key is released with the verdict, or before it once the ledger says that somebody unblinded the plan;
-- and erased once the ledger says that.

CREATE OR REPLACE FUNCTION forelock_guard_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed boolean;
BEGIN
  allowed := NEW.preregistration_id = OLD.preregistration_id AND NEW.public_key = OLD.public_key;
  IF NEW.wrapped_key IS NULL THEN
    allowed := allowed AND NEW.released_key IS NULL
      AND EXISTS (SELECT FROM ledger_entries
                  WHERE preregistration_id = OLD.preregistration_id AND kind = 'erasure');
  ELSE
    allowed := allowed AND NEW.wrapped_key IS NOT DISTINCT FROM OLD.wrapped_key
      AND OLD.released_key IS NULL AND NEW.released_key IS NOT NULL
      AND (
        EXISTS (SELECT FROM preregistrations WHERE id = OLD.preregistration_id AND judged_at IS NOT NULL)
        OR (
          EXISTS (SELECT FROM preregistrations
                  WHERE id = OLD.preregistration_id AND state IN ('locked', 'collecting', 'complete'))
          AND EXISTS (SELECT FROM ledger_entries
                      WHERE preregistration_id = OLD.preregistration_id AND kind = 'unblinding')
        )
      );
  END IF;
  IF allowed IS NOT TRUE THEN
    RAISE EXCEPTION 'plan_keys: a key is released once, judged or unblinded on record, or erased on record'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- As in 0001: a function that is made anew reads the tables of this schema.

DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION forelock_guard_key() SET search_path = %I, pg_temp', current_schema());
END $$;
