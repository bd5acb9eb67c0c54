-- Guards of Postgres, in the manner of 0001, whose functions they share.

CREATE FUNCTION forelock_guard_deviation_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM
     (SELECT coalesce(max(number), 0) + 1 FROM deviations WHERE preregistration_id = NEW.preregistration_id) THEN
    RAISE EXCEPTION 'deviations: the number is not the next one'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION forelock_guard_decision_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM
     (SELECT coalesce(max(number), 0) + 1 FROM deviation_decisions
      WHERE preregistration_id = NEW.preregistration_id AND deviation = NEW.deviation) THEN
    RAISE EXCEPTION 'deviation_decisions: the number is not the next one'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- deviations

CREATE TRIGGER deviations_guard_insert BEFORE INSERT ON deviations FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting', 'complete', 'judged');
CREATE TRIGGER deviations_guard_insert_number BEFORE INSERT ON deviations FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_deviation_number();
CREATE TRIGGER deviations_guard_update BEFORE UPDATE ON deviations FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER deviations_guard_delete BEFORE DELETE ON deviations FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER deviations_guard_truncate BEFORE TRUNCATE ON deviations
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- deviation_decisions

CREATE TRIGGER deviation_decisions_guard_insert BEFORE INSERT ON deviation_decisions FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting', 'complete', 'judged');
CREATE TRIGGER deviation_decisions_guard_insert_number BEFORE INSERT ON deviation_decisions FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_decision_number();
CREATE TRIGGER deviation_decisions_guard_update BEFORE UPDATE ON deviation_decisions FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER deviation_decisions_guard_delete BEFORE DELETE ON deviation_decisions FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER deviation_decisions_guard_truncate BEFORE TRUNCATE ON deviation_decisions
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname IN ('deviations', 'deviation_decisions') AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  FOR guard IN
    SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname IN ('forelock_guard_deviation_number', 'forelock_guard_decision_number')
  LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', guard.proname, current_schema());
  END LOOP;
END $$;
