-- Guards of SQLite, in the manner of 0001: INSERT guards also refuse a row whose key or rowid is there already.

-- projects: insert-only.

CREATE TRIGGER projects_guard_insert BEFORE INSERT ON projects
WHEN EXISTS (SELECT 1 FROM projects WHERE id = NEW.id OR name = NEW.name OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'projects: there is one of that id or name'); END;

CREATE TRIGGER projects_guard_update BEFORE UPDATE ON projects
BEGIN SELECT RAISE(ABORT, 'projects: rows are insert-only'); END;

CREATE TRIGGER projects_guard_delete BEFORE DELETE ON projects
BEGIN SELECT RAISE(ABORT, 'projects: rows are insert-only'); END;

-- keys: only their last use and their end are written, and an end stays.

CREATE TRIGGER keys_guard_insert BEFORE INSERT ON keys
WHEN EXISTS (SELECT 1 FROM keys WHERE id = NEW.id OR secret_sha256 = NEW.secret_sha256 OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'keys: there is one of that id or secret'); END;

CREATE TRIGGER keys_guard_update BEFORE UPDATE ON keys
WHEN NOT (
  NEW.rowid = OLD.rowid AND NEW.id IS OLD.id AND NEW.project_id IS OLD.project_id AND NEW.name IS OLD.name
  AND NEW.kind IS OLD.kind AND NEW.scopes IS OLD.scopes AND NEW.prefix IS OLD.prefix
  AND NEW.secret_sha256 IS OLD.secret_sha256 AND NEW.created_at IS OLD.created_at
  AND NEW.created_by IS OLD.created_by AND NEW.expires_at IS OLD.expires_at
  AND (OLD.revoked_at IS NULL OR NEW.revoked_at IS OLD.revoked_at)
)
BEGIN SELECT RAISE(ABORT, 'keys: a key is used and revoked, and nothing else'); END;

CREATE TRIGGER keys_guard_delete BEFORE DELETE ON keys
BEGIN SELECT RAISE(ABORT, 'keys: rows stay; revoke the key instead'); END;

-- plan_keys: a key is erased only after the ledger has said so.

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
      AND (SELECT judged_at FROM preregistrations WHERE id = OLD.preregistration_id) IS NOT NULL
    END
)
BEGIN SELECT RAISE(ABORT, 'plan_keys: a key is released once, after judgement, or erased on record'); END;

-- coverage: follows the batches while the record takes results.

CREATE TRIGGER coverage_guard_insert BEFORE INSERT ON coverage
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '') NOT IN ('locked', 'collecting')
  OR EXISTS (SELECT 1 FROM coverage WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'coverage: the record takes no results'); END;

CREATE TRIGGER coverage_guard_update BEFORE UPDATE ON coverage
WHEN NEW.rowid IS NOT OLD.rowid OR NEW.preregistration_id IS NOT OLD.preregistration_id
  OR NEW.population IS NOT OLD.population OR NEW.arm IS NOT OLD.arm OR NEW.endpoint IS NOT OLD.endpoint
  OR NEW.replicate IS NOT OLD.replicate
  OR coalesce((SELECT state FROM preregistrations WHERE id = OLD.preregistration_id), '') NOT IN ('locked', 'collecting')
BEGIN SELECT RAISE(ABORT, 'coverage: the record takes no results'); END;

CREATE TRIGGER coverage_guard_delete BEFORE DELETE ON coverage
BEGIN SELECT RAISE(ABORT, 'coverage: rows stay'); END;

-- preregistrations: complete only when coverage counts as many results as the batches that stand.

DROP TRIGGER preregistrations_guard_update;

CREATE TRIGGER preregistrations_guard_update BEFORE UPDATE ON preregistrations
WHEN NOT (
  NEW.rowid = OLD.rowid AND NEW.id IS OLD.id AND NEW.project_id IS OLD.project_id
  AND NEW.created_at IS OLD.created_at AND NEW.version IS OLD.version AND NEW.revision IS OLD.revision + 1
  AND CASE
    WHEN OLD.state = 'draft' AND NEW.state = 'draft' THEN
      NEW.lint IS NULL AND NEW.locked_at IS NULL AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL
    WHEN OLD.state = 'draft' THEN
      NEW.state = 'locked' AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL
      AND EXISTS (SELECT 1 FROM plans WHERE preregistration_id = NEW.id AND version = NEW.version
                  AND sha256 = NEW.plan_sha256 AND locked_at = NEW.locked_at)
      AND EXISTS (SELECT 1 FROM plan_keys WHERE preregistration_id = NEW.id)
    ELSE
      NEW.title IS OLD.title AND NEW.draft IS OLD.draft AND NEW.plan_sha256 IS OLD.plan_sha256
      AND NEW.lint IS OLD.lint AND NEW.acknowledged IS OLD.acknowledged AND NEW.locked_at IS OLD.locked_at
      AND CASE OLD.state || ' to ' || NEW.state
        WHEN 'collecting to complete' THEN
          NEW.complete_at IS NOT NULL AND NEW.judged_at IS NULL
          AND coalesce((SELECT sum(received) FROM coverage WHERE preregistration_id = NEW.id), -1)
            = coalesce((SELECT sum(n) FROM batches WHERE preregistration_id = NEW.id AND sequence NOT IN
                (SELECT sequence FROM batch_voids WHERE preregistration_id = NEW.id)), 0)
        WHEN 'complete to judged' THEN
          NEW.complete_at IS OLD.complete_at AND NEW.judged_at IS NOT NULL
          AND EXISTS (SELECT 1 FROM verdicts WHERE preregistration_id = NEW.id)
        ELSE
          NEW.complete_at IS OLD.complete_at AND NEW.judged_at IS OLD.judged_at
          AND OLD.state || ' to ' || NEW.state IN (
            'locked to collecting', 'locked to withdrawn', 'collecting to withdrawn',
            'complete to withdrawn', 'judged to withdrawn')
        END
    END
)
BEGIN SELECT RAISE(ABORT, 'preregistrations: this move is not allowed, or changes what is locked'); END;

-- jobs: what was asked stays, and so does an answer until it expires.

CREATE TRIGGER jobs_guard_insert BEFORE INSERT ON jobs
WHEN NEW.state IS NOT 'queued' OR NEW.result IS NOT NULL OR NEW.error IS NOT NULL
  OR EXISTS (SELECT 1 FROM jobs WHERE id = NEW.id OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'jobs: a new row is queued and of its own'); END;

CREATE TRIGGER jobs_guard_update BEFORE UPDATE ON jobs
WHEN OLD.state NOT IN ('queued', 'running') OR NEW.rowid IS NOT OLD.rowid OR NEW.id IS NOT OLD.id
  OR NEW.project_id IS NOT OLD.project_id OR NEW.kind IS NOT OLD.kind OR NEW.subject IS NOT OLD.subject
  OR NEW.params IS NOT OLD.params OR NEW.created_at IS NOT OLD.created_at
BEGIN SELECT RAISE(ABORT, 'jobs: what was asked and answered stays'); END;

CREATE TRIGGER jobs_guard_delete BEFORE DELETE ON jobs
WHEN OLD.state IN ('queued', 'running')
BEGIN SELECT RAISE(ABORT, 'jobs: only ended ones expire'); END;

-- idempotency: an answer is kept as it was given, until it is forgotten.

CREATE TRIGGER idempotency_guard_insert BEFORE INSERT ON idempotency
WHEN EXISTS (SELECT 1 FROM idempotency WHERE rowid = NEW.rowid
             OR (key_id = NEW.key_id AND route = NEW.route AND idempotency_key = NEW.idempotency_key))
BEGIN SELECT RAISE(ABORT, 'idempotency: there is an answer already'); END;

CREATE TRIGGER idempotency_guard_update BEFORE UPDATE ON idempotency
BEGIN SELECT RAISE(ABORT, 'idempotency: an answer stays as it was given'); END;
