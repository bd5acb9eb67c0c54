-- Guards of Postgres, in the manner of 0001, whose functions they share.

CREATE FUNCTION forelock_guard_point_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM
     (SELECT coalesce(max(number), 0) + 1 FROM series_points WHERE series_id = NEW.series_id) THEN
    RAISE EXCEPTION 'series_points: the number is not the next one'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER series_points_guard_insert BEFORE INSERT ON series_points FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_point_number();

-- series

CREATE TRIGGER series_guard_update BEFORE UPDATE ON series FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER series_guard_delete BEFORE DELETE ON series FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER series_guard_truncate BEFORE TRUNCATE ON series
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- series_rosters

CREATE TRIGGER series_rosters_guard_update BEFORE UPDATE ON series_rosters FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER series_rosters_guard_delete BEFORE DELETE ON series_rosters FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER series_rosters_guard_truncate BEFORE TRUNCATE ON series_rosters
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- series_points

CREATE TRIGGER series_points_guard_update BEFORE UPDATE ON series_points FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER series_points_guard_delete BEFORE DELETE ON series_points FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER series_points_guard_truncate BEFORE TRUNCATE ON series_points
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname IN ('series', 'series_rosters', 'series_points') AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  FOR guard IN
    SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname = 'forelock_guard_point_number'
  LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', guard.proname, current_schema());
  END LOOP;
END $$;
