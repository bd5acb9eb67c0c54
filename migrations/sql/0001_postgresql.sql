-- Guards of Postgres. Every guarded table has one trigger for each of INSERT, UPDATE, DELETE and TRUNCATE
-- (audit_events takes any new row). An upsert fires them too.

CREATE FUNCTION forelock_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%: % is refused, %', TG_TABLE_NAME, TG_OP, TG_ARGV[0]
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Refuses rows of a preregistration whose state is none of the arguments. The lock makes a concurrent
-- move of the head wait, or makes this statement see it.
CREATE FUNCTION forelock_require_state() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner text;
  present text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    owner := OLD.preregistration_id;
  ELSE
    owner := NEW.preregistration_id;
  END IF;
  SELECT state INTO present FROM preregistrations WHERE id = owner FOR NO KEY UPDATE;
  IF present IS NULL OR NOT present = ANY (TG_ARGV) THEN
    RAISE EXCEPTION '%: % is refused while the preregistration is %', TG_TABLE_NAME, TG_OP, present
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION forelock_guard_head() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  moves text := OLD.state || ' to ' || NEW.state;
  allowed boolean;
BEGIN
  allowed := NEW.id = OLD.id AND NEW.project_id = OLD.project_id AND NEW.created_at = OLD.created_at
    AND NEW.version = OLD.version AND NEW.revision = OLD.revision + 1;
  IF moves = 'draft to draft' THEN
    allowed := allowed AND NEW.lint IS NULL AND NEW.locked_at IS NULL
      AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL;
  ELSIF OLD.state = 'draft' THEN
    allowed := allowed AND NEW.state = 'locked' AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL
      AND EXISTS (SELECT FROM plans WHERE preregistration_id = NEW.id AND version = NEW.version
                  AND sha256 = NEW.plan_sha256 AND locked_at = NEW.locked_at)
      AND EXISTS (SELECT FROM plan_keys WHERE preregistration_id = NEW.id);
  ELSE
    allowed := allowed AND NEW.title IS NOT DISTINCT FROM OLD.title
      AND NEW.draft IS NOT DISTINCT FROM OLD.draft AND NEW.plan_sha256 IS NOT DISTINCT FROM OLD.plan_sha256
      AND NEW.lint::text IS NOT DISTINCT FROM OLD.lint::text
      AND NEW.acknowledged::text = OLD.acknowledged::text
      AND NEW.locked_at IS NOT DISTINCT FROM OLD.locked_at;
    IF moves = 'collecting to complete' THEN
      allowed := allowed AND NEW.complete_at IS NOT NULL AND NEW.judged_at IS NULL;
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

CREATE FUNCTION forelock_guard_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed boolean;
BEGIN
  allowed := NEW.preregistration_id = OLD.preregistration_id AND NEW.public_key = OLD.public_key;
  IF NEW.wrapped_key IS NULL THEN
    allowed := allowed AND NEW.released_key IS NULL;
  ELSE
    allowed := allowed AND NEW.wrapped_key IS NOT DISTINCT FROM OLD.wrapped_key
      AND OLD.released_key IS NULL AND NEW.released_key IS NOT NULL
      AND EXISTS (SELECT FROM preregistrations WHERE id = OLD.preregistration_id AND judged_at IS NOT NULL);
  END IF;
  IF allowed IS NOT TRUE THEN
    RAISE EXCEPTION 'plan_keys: a key is released once, after judgement, or erased'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION forelock_guard_batch_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.sequence IS DISTINCT FROM
     (SELECT coalesce(max(sequence), 0) + 1 FROM batches WHERE preregistration_id = NEW.preregistration_id) THEN
    RAISE EXCEPTION 'batches: the number is not the next one' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION forelock_guard_leaf() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.sequence IS DISTINCT FROM (SELECT coalesce(max(sequence) + 1, 0) FROM ledger_entries) THEN
    RAISE EXCEPTION 'ledger_entries: the sequence is not the next one'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE FUNCTION forelock_guard_ledger_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id IS DISTINCT FROM OLD.id OR NEW.size IS DISTINCT FROM OLD.size + 1
     OR NEW.size IS DISTINCT FROM (SELECT max(sequence) + 1 FROM ledger_entries) THEN
    RAISE EXCEPTION 'ledger_head: the log grows by the leaf that was just added'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- preregistrations

CREATE TRIGGER preregistrations_guard_insert BEFORE INSERT ON preregistrations FOR EACH ROW
  WHEN (NEW.state IS DISTINCT FROM 'draft' OR NEW.revision IS DISTINCT FROM 1 OR NEW.lint IS NOT NULL
        OR NEW.locked_at IS NOT NULL OR NEW.complete_at IS NOT NULL OR NEW.judged_at IS NOT NULL)
  EXECUTE FUNCTION forelock_refuse('a new row is a draft');
CREATE TRIGGER preregistrations_guard_update BEFORE UPDATE ON preregistrations FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_head();
CREATE TRIGGER preregistrations_guard_delete BEFORE DELETE ON preregistrations FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM 'draft') EXECUTE FUNCTION forelock_refuse('only drafts can be deleted');

-- manifests

CREATE TRIGGER manifests_guard_insert BEFORE INSERT ON manifests FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('draft');
CREATE TRIGGER manifests_guard_update BEFORE UPDATE ON manifests FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('draft');
CREATE TRIGGER manifests_guard_update_key BEFORE UPDATE ON manifests FOR EACH ROW
  WHEN (NEW.preregistration_id IS DISTINCT FROM OLD.preregistration_id
        OR NEW.population IS DISTINCT FROM OLD.population)
  EXECUTE FUNCTION forelock_refuse('a manifest belongs to its population');
CREATE TRIGGER manifests_guard_delete BEFORE DELETE ON manifests FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('draft');

-- plans

CREATE TRIGGER plans_guard_insert BEFORE INSERT ON plans FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('draft');
CREATE TRIGGER plans_guard_update BEFORE UPDATE ON plans FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER plans_guard_delete BEFORE DELETE ON plans FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- plan_keys

CREATE TRIGGER plan_keys_guard_insert BEFORE INSERT ON plan_keys FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('draft');
CREATE TRIGGER plan_keys_guard_insert_form BEFORE INSERT ON plan_keys FOR EACH ROW
  WHEN (NEW.wrapped_key IS NULL OR NEW.released_key IS NOT NULL)
  EXECUTE FUNCTION forelock_refuse('a new key is wrapped and not released');
CREATE TRIGGER plan_keys_guard_update BEFORE UPDATE ON plan_keys FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_key();
CREATE TRIGGER plan_keys_guard_delete BEFORE DELETE ON plan_keys FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows stay; erase the key instead');

-- batches

CREATE TRIGGER batches_guard_insert BEFORE INSERT ON batches FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting');
CREATE TRIGGER batches_guard_insert_number BEFORE INSERT ON batches FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_batch_number();
CREATE TRIGGER batches_guard_update BEFORE UPDATE ON batches FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER batches_guard_delete BEFORE DELETE ON batches FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- batch_voids

CREATE TRIGGER batch_voids_guard_insert BEFORE INSERT ON batch_voids FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting');
CREATE TRIGGER batch_voids_guard_update BEFORE UPDATE ON batch_voids FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER batch_voids_guard_delete BEFORE DELETE ON batch_voids FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- verdicts and their hypotheses

CREATE TRIGGER verdicts_guard_insert BEFORE INSERT ON verdicts FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('complete');
CREATE TRIGGER verdicts_guard_update BEFORE UPDATE ON verdicts FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER verdicts_guard_delete BEFORE DELETE ON verdicts FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

CREATE TRIGGER verdict_hypotheses_guard_insert BEFORE INSERT ON verdict_hypotheses FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('complete');
CREATE TRIGGER verdict_hypotheses_guard_update BEFORE UPDATE ON verdict_hypotheses FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER verdict_hypotheses_guard_delete BEFORE DELETE ON verdict_hypotheses FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- the ledger

CREATE TRIGGER ledger_entries_guard_insert BEFORE INSERT ON ledger_entries FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_leaf();
CREATE TRIGGER ledger_entries_guard_update BEFORE UPDATE ON ledger_entries FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_entries_guard_delete BEFORE DELETE ON ledger_entries FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

CREATE TRIGGER ledger_head_guard_insert BEFORE INSERT ON ledger_head FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('there is one log');
CREATE TRIGGER ledger_head_guard_update BEFORE UPDATE ON ledger_head FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_ledger_head();
CREATE TRIGGER ledger_head_guard_delete BEFORE DELETE ON ledger_head FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('there is one log');

-- audit_events

CREATE TRIGGER audit_events_guard_update BEFORE UPDATE ON audit_events FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER audit_events_guard_delete BEFORE DELETE ON audit_events FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- TRUNCATE fires no row trigger.

CREATE TRIGGER preregistrations_guard_truncate BEFORE TRUNCATE ON preregistrations
  EXECUTE FUNCTION forelock_refuse('delete drafts one by one');
CREATE TRIGGER manifests_guard_truncate BEFORE TRUNCATE ON manifests
  EXECUTE FUNCTION forelock_refuse('locked manifests stay');
CREATE TRIGGER plans_guard_truncate BEFORE TRUNCATE ON plans
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER plan_keys_guard_truncate BEFORE TRUNCATE ON plan_keys
  EXECUTE FUNCTION forelock_refuse('rows stay');
CREATE TRIGGER batches_guard_truncate BEFORE TRUNCATE ON batches
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER batch_voids_guard_truncate BEFORE TRUNCATE ON batch_voids
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER verdicts_guard_truncate BEFORE TRUNCATE ON verdicts
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER verdict_hypotheses_guard_truncate BEFORE TRUNCATE ON verdict_hypotheses
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_entries_guard_truncate BEFORE TRUNCATE ON ledger_entries
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_head_guard_truncate BEFORE TRUNCATE ON ledger_head
  EXECUTE FUNCTION forelock_refuse('there is one log');
CREATE TRIGGER audit_events_guard_truncate BEFORE TRUNCATE ON audit_events
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- The guards hold under session_replication_role = replica, and read the tables of this schema whatever
-- the session's search_path says: a temporary table named `preregistrations` deceives nobody.

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
