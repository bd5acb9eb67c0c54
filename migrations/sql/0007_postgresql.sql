-- Guards of Postgres, in the manner of 0001.

-- runs: insert-only, numbered without gaps, while the record takes results.

CREATE FUNCTION forelock_guard_run_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM
     (SELECT coalesce(max(number), 0) + 1 FROM runs WHERE preregistration_id = NEW.preregistration_id) THEN
    RAISE EXCEPTION 'runs: the number is not the next one' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER runs_guard_insert BEFORE INSERT ON runs FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting');
CREATE TRIGGER runs_guard_insert_number BEFORE INSERT ON runs FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_run_number();
CREATE TRIGGER runs_guard_update BEFORE UPDATE ON runs FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER runs_guard_delete BEFORE DELETE ON runs FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER runs_guard_truncate BEFORE TRUNCATE ON runs
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- An amendment is the next version of a plan that has no batch yet, not even a void one: its text first, then the head.

CREATE FUNCTION forelock_guard_plan() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  head record;
BEGIN
  SELECT state, version INTO head FROM preregistrations WHERE id = NEW.preregistration_id FOR NO KEY UPDATE;
  IF (head.state = 'draft' AND head.version = NEW.version)
     OR (head.state = 'locked' AND head.version + 1 = NEW.version
         AND NOT EXISTS (SELECT FROM batches WHERE preregistration_id = NEW.preregistration_id)) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'plans: the preregistration is locked already' USING ERRCODE = 'integrity_constraint_violation';
END $$;

DROP TRIGGER plans_guard_insert ON plans;

CREATE TRIGGER plans_guard_insert BEFORE INSERT ON plans FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_plan();

CREATE OR REPLACE FUNCTION forelock_guard_head() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  moves text := OLD.state || ' to ' || NEW.state;
  allowed boolean;
BEGIN
  allowed := NEW.id = OLD.id AND NEW.project_id = OLD.project_id AND NEW.created_at = OLD.created_at
    AND NEW.version = OLD.version + (moves = 'locked to locked')::integer AND NEW.revision = OLD.revision + 1;
  IF moves = 'draft to draft' THEN
    allowed := allowed AND NEW.lint IS NULL AND NEW.locked_at IS NULL
      AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL;
  ELSIF OLD.state = 'draft' OR moves = 'locked to locked' THEN
    allowed := allowed AND NEW.state = 'locked' AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL
      AND EXISTS (SELECT FROM plans WHERE preregistration_id = NEW.id AND version = NEW.version
                  AND sha256 = NEW.plan_sha256 AND locked_at = NEW.locked_at)
      AND EXISTS (SELECT FROM plan_keys WHERE preregistration_id = NEW.id)
      AND NOT EXISTS (SELECT FROM batches WHERE preregistration_id = NEW.id);
  ELSE
    allowed := allowed AND NEW.title IS NOT DISTINCT FROM OLD.title
      AND NEW.draft IS NOT DISTINCT FROM OLD.draft AND NEW.plan_sha256 IS NOT DISTINCT FROM OLD.plan_sha256
      AND NEW.lint::text IS NOT DISTINCT FROM OLD.lint::text
      AND NEW.acknowledged::text = OLD.acknowledged::text
      AND NEW.locked_at IS NOT DISTINCT FROM OLD.locked_at;
    IF moves = 'collecting to complete' THEN
      allowed := allowed AND NEW.complete_at IS NOT NULL AND NEW.judged_at IS NULL
        AND (SELECT sum(received) FROM coverage WHERE preregistration_id = NEW.id)
          = (SELECT sum(n) FROM batches WHERE preregistration_id = NEW.id AND sequence NOT IN
              (SELECT sequence FROM batch_voids WHERE preregistration_id = NEW.id));
    ELSIF moves = 'complete to judged' THEN
      allowed := allowed AND NEW.complete_at = OLD.complete_at AND NEW.judged_at IS NOT NULL
        AND EXISTS (SELECT FROM verdicts WHERE preregistration_id = NEW.id);
    ELSE
      allowed := allowed AND NEW.complete_at IS NOT DISTINCT FROM OLD.complete_at
        AND NEW.judged_at IS NOT DISTINCT FROM OLD.judged_at
        AND moves IN ('locked to collecting', 'locked to withdrawn', 'collecting to withdrawn',
                      'complete to withdrawn', 'judged to withdrawn');
    END IF;
  END IF;
  IF allowed IS NOT TRUE THEN
    RAISE EXCEPTION 'preregistrations: % is not allowed, or changes what is locked', moves
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  FOR guard IN
    SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'forelock\_%'
  LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', guard.proname, current_schema());
  END LOOP;
END $$;
