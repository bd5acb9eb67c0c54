-- The head grows by the leaves that were just added. Their own guard lets them in without gaps, one by one.

CREATE OR REPLACE FUNCTION forelock_guard_ledger_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id IS DISTINCT FROM OLD.id OR (NEW.size > OLD.size) IS NOT TRUE
     OR NEW.size IS DISTINCT FROM (SELECT max(sequence) + 1 FROM ledger_entries) THEN
    RAISE EXCEPTION 'ledger_head: the log grows by the leaves that were just added'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- As in 0001: the function reads the tables of this schema. Replacing it has dropped that setting.

DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION forelock_guard_ledger_head() SET search_path = %I, pg_temp', current_schema());
END $$;
