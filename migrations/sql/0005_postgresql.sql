-- Guards of Postgres, in the manner of 0001.

-- keys: only their last use and their end are written, and an end stays.

CREATE FUNCTION forelock_guard_api_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.project_id, NEW.name, NEW.kind, NEW.scopes, NEW.prefix, NEW.secret_sha256, NEW.created_at,
      NEW.created_by, NEW.expires_at)
     IS DISTINCT FROM
     (OLD.id, OLD.project_id, OLD.name, OLD.kind, OLD.scopes, OLD.prefix, OLD.secret_sha256, OLD.created_at,
      OLD.created_by, OLD.expires_at)
     OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at) THEN
    RAISE EXCEPTION 'keys: a key is used and revoked, and nothing else'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- coverage: a cell stays where it is.

CREATE FUNCTION forelock_guard_cell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.preregistration_id, NEW.population, NEW.arm, NEW.endpoint, NEW.replicate)
     IS DISTINCT FROM (OLD.preregistration_id, OLD.population, OLD.arm, OLD.endpoint, OLD.replicate) THEN
    RAISE EXCEPTION 'coverage: a cell stays where it is' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- jobs: what was asked stays, and so does an answer until it expires.

CREATE FUNCTION forelock_guard_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed boolean;
BEGIN
  IF TG_OP = 'INSERT' THEN
    allowed := NEW.state = 'queued' AND NEW.result IS NULL AND NEW.error IS NULL;
  ELSIF TG_OP = 'DELETE' THEN
    allowed := OLD.state NOT IN ('queued', 'running');
  ELSE
    allowed := OLD.state IN ('queued', 'running') AND NEW.params::text = OLD.params::text
      AND (NEW.id, NEW.project_id, NEW.kind, NEW.subject, NEW.created_at)
      IS NOT DISTINCT FROM (OLD.id, OLD.project_id, OLD.kind, OLD.subject, OLD.created_at);
  END IF;
  IF allowed IS NOT TRUE THEN
    RAISE EXCEPTION 'jobs: % is refused, what was asked and answered stays', TG_OP
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  RETURN NEW;
END $$;

-- plan_keys: a key is erased only after the ledger has said so.

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
      AND EXISTS (SELECT FROM preregistrations WHERE id = OLD.preregistration_id AND judged_at IS NOT NULL);
  END IF;
  IF allowed IS NOT TRUE THEN
    RAISE EXCEPTION 'plan_keys: a key is released once, after judgement, or erased on record'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- preregistrations: complete only when coverage counts as many results as the batches that stand.

CREATE OR REPLACE FUNCTION forelock_guard_head() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER projects_guard_update BEFORE UPDATE ON projects FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER projects_guard_delete BEFORE DELETE ON projects FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER projects_guard_truncate BEFORE TRUNCATE ON projects
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

CREATE TRIGGER keys_guard_update BEFORE UPDATE ON keys FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_api_key();
CREATE TRIGGER keys_guard_delete BEFORE DELETE ON keys FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows stay; revoke the key instead');
CREATE TRIGGER keys_guard_truncate BEFORE TRUNCATE ON keys
  EXECUTE FUNCTION forelock_refuse('rows stay');

CREATE TRIGGER coverage_guard_insert BEFORE INSERT ON coverage FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting');
CREATE TRIGGER coverage_guard_update BEFORE UPDATE ON coverage FOR EACH ROW
  EXECUTE FUNCTION forelock_require_state('locked', 'collecting');
CREATE TRIGGER coverage_guard_update_key BEFORE UPDATE ON coverage FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_cell();
CREATE TRIGGER coverage_guard_delete BEFORE DELETE ON coverage FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows stay');
CREATE TRIGGER coverage_guard_truncate BEFORE TRUNCATE ON coverage
  EXECUTE FUNCTION forelock_refuse('rows stay');

CREATE TRIGGER jobs_guard_insert BEFORE INSERT ON jobs FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_job();
CREATE TRIGGER jobs_guard_update BEFORE UPDATE ON jobs FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_job();
CREATE TRIGGER jobs_guard_delete BEFORE DELETE ON jobs FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_job();
CREATE TRIGGER jobs_guard_truncate BEFORE TRUNCATE ON jobs
  EXECUTE FUNCTION forelock_refuse('ended jobs expire one by one');

CREATE TRIGGER idempotency_guard_update BEFORE UPDATE ON idempotency FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('an answer stays as it was given');
CREATE TRIGGER idempotency_guard_truncate BEFORE TRUNCATE ON idempotency
  EXECUTE FUNCTION forelock_refuse('answers are forgotten one by one');

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
