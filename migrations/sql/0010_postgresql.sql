-- Guards of Postgres, in the manner of 0001, whose functions they share.

CREATE FUNCTION forelock_guard_import_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM
     (SELECT coalesce(max(number), 0) + 1 FROM imports WHERE preregistration_id = NEW.preregistration_id) THEN
    RAISE EXCEPTION 'imports: the number is not the next one'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- imports

CREATE TRIGGER imports_guard_insert BEFORE INSERT ON imports FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('collecting', 'complete');
CREATE TRIGGER imports_guard_insert_number BEFORE INSERT ON imports FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_import_number();
CREATE TRIGGER imports_guard_update BEFORE UPDATE ON imports FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER imports_guard_delete BEFORE DELETE ON imports FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER imports_guard_truncate BEFORE TRUNCATE ON imports
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname = 'imports' AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  FOR guard IN
    SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname = 'forelock_guard_import_number'
  LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', guard.proname, current_schema());
  END LOOP;
END $$;
