-- Guards of SQLite. Every guarded table has one trigger for each of INSERT, UPDATE and DELETE.
--
-- INSERT OR REPLACE deletes the old row without firing its DELETE trigger unless the connection has
-- recursive_triggers on, so each INSERT guard refuses a row whose key or rowid is there already.

-- preregistrations: the head moves through its states; what is locked never changes.

CREATE TRIGGER preregistrations_guard_insert BEFORE INSERT ON preregistrations
WHEN NEW.state IS NOT 'draft' OR NEW.revision IS NOT 1 OR NEW.lint IS NOT NULL OR NEW.locked_at IS NOT NULL
  OR NEW.complete_at IS NOT NULL OR NEW.judged_at IS NOT NULL
  OR EXISTS (SELECT 1 FROM preregistrations WHERE id = NEW.id OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'preregistrations: a new row is a draft of its own'); END;

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
        WHEN 'collecting to complete' THEN NEW.complete_at IS NOT NULL AND NEW.judged_at IS NULL
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

CREATE TRIGGER preregistrations_guard_delete BEFORE DELETE ON preregistrations
WHEN OLD.state IS NOT 'draft'
BEGIN SELECT RAISE(ABORT, 'preregistrations: only drafts can be deleted'); END;

-- manifests: free while the head is a draft.

CREATE TRIGGER manifests_guard_insert BEFORE INSERT ON manifests
WHEN (SELECT state FROM preregistrations WHERE id = NEW.preregistration_id) IS NOT 'draft'
  OR EXISTS (SELECT 1 FROM manifests WHERE rowid = NEW.rowid
             OR (preregistration_id = NEW.preregistration_id AND population = NEW.population))
BEGIN SELECT RAISE(ABORT, 'manifests: the preregistration is locked, or has this manifest'); END;

CREATE TRIGGER manifests_guard_update BEFORE UPDATE ON manifests
WHEN NEW.rowid IS NOT OLD.rowid OR NEW.preregistration_id IS NOT OLD.preregistration_id
  OR NEW.population IS NOT OLD.population
  OR (SELECT state FROM preregistrations WHERE id = OLD.preregistration_id) IS NOT 'draft'
BEGIN SELECT RAISE(ABORT, 'manifests: the preregistration is locked'); END;

CREATE TRIGGER manifests_guard_delete BEFORE DELETE ON manifests
WHEN (SELECT state FROM preregistrations WHERE id = OLD.preregistration_id) IS NOT 'draft'
BEGIN SELECT RAISE(ABORT, 'manifests: the preregistration is locked'); END;

-- plans: insert-only, while the head is still a draft.

CREATE TRIGGER plans_guard_insert BEFORE INSERT ON plans
WHEN (SELECT state FROM preregistrations WHERE id = NEW.preregistration_id) IS NOT 'draft'
  OR EXISTS (SELECT 1 FROM plans WHERE rowid = NEW.rowid
             OR (preregistration_id = NEW.preregistration_id AND version = NEW.version))
BEGIN SELECT RAISE(ABORT, 'plans: the preregistration is locked already'); END;

CREATE TRIGGER plans_guard_update BEFORE UPDATE ON plans
BEGIN SELECT RAISE(ABORT, 'plans: rows are insert-only'); END;

CREATE TRIGGER plans_guard_delete BEFORE DELETE ON plans
BEGIN SELECT RAISE(ABORT, 'plans: rows are insert-only'); END;

-- plan_keys: made at the lock, released once with the verdict, erased in every form at once.

CREATE TRIGGER plan_keys_guard_insert BEFORE INSERT ON plan_keys
WHEN NEW.wrapped_key IS NULL OR NEW.released_key IS NOT NULL
  OR (SELECT state FROM preregistrations WHERE id = NEW.preregistration_id) IS NOT 'draft'
  OR EXISTS (SELECT 1 FROM plan_keys WHERE rowid = NEW.rowid OR preregistration_id = NEW.preregistration_id)
BEGIN SELECT RAISE(ABORT, 'plan_keys: a plan has one key, made when it is locked'); END;

CREATE TRIGGER plan_keys_guard_update BEFORE UPDATE ON plan_keys
WHEN NOT (
  NEW.rowid = OLD.rowid AND NEW.preregistration_id IS OLD.preregistration_id
  AND NEW.public_key IS OLD.public_key
  AND CASE
    WHEN NEW.wrapped_key IS NULL THEN NEW.released_key IS NULL
    ELSE NEW.wrapped_key IS OLD.wrapped_key AND OLD.released_key IS NULL AND NEW.released_key IS NOT NULL
      AND (SELECT judged_at FROM preregistrations WHERE id = OLD.preregistration_id) IS NOT NULL
    END
)
BEGIN SELECT RAISE(ABORT, 'plan_keys: a key is released once, after judgement, or erased'); END;

CREATE TRIGGER plan_keys_guard_delete BEFORE DELETE ON plan_keys
BEGIN SELECT RAISE(ABORT, 'plan_keys: rows stay; erase the key instead'); END;

-- batches: insert-only, numbered without gaps, while the record takes results.

CREATE TRIGGER batches_guard_insert BEFORE INSERT ON batches
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '') NOT IN ('locked', 'collecting')
  OR NEW.sequence IS NOT
     (SELECT coalesce(max(sequence), 0) + 1 FROM batches WHERE preregistration_id = NEW.preregistration_id)
  OR EXISTS (SELECT 1 FROM batches WHERE rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'batches: the record takes no results, or the number is not the next one'); END;

CREATE TRIGGER batches_guard_update BEFORE UPDATE ON batches
BEGIN SELECT RAISE(ABORT, 'batches: rows are insert-only'); END;

CREATE TRIGGER batches_guard_delete BEFORE DELETE ON batches
BEGIN SELECT RAISE(ABORT, 'batches: rows are insert-only'); END;

-- batch_voids: insert-only, while the record takes results.

CREATE TRIGGER batch_voids_guard_insert BEFORE INSERT ON batch_voids
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '') NOT IN ('locked', 'collecting')
  OR EXISTS (SELECT 1 FROM batch_voids WHERE rowid = NEW.rowid
             OR (preregistration_id = NEW.preregistration_id AND sequence = NEW.sequence))
BEGIN SELECT RAISE(ABORT, 'batch_voids: the record takes no voids, or the batch is void'); END;

CREATE TRIGGER batch_voids_guard_update BEFORE UPDATE ON batch_voids
BEGIN SELECT RAISE(ABORT, 'batch_voids: rows are insert-only'); END;

CREATE TRIGGER batch_voids_guard_delete BEFORE DELETE ON batch_voids
BEGIN SELECT RAISE(ABORT, 'batch_voids: rows are insert-only'); END;

-- verdicts and their hypotheses: insert-only, on a complete record that is not judged yet.

CREATE TRIGGER verdicts_guard_insert BEFORE INSERT ON verdicts
WHEN (SELECT state FROM preregistrations WHERE id = NEW.preregistration_id) IS NOT 'complete'
  OR EXISTS (SELECT 1 FROM verdicts WHERE rowid = NEW.rowid OR preregistration_id = NEW.preregistration_id)
BEGIN SELECT RAISE(ABORT, 'verdicts: the record is not complete, or has a verdict'); END;

CREATE TRIGGER verdicts_guard_update BEFORE UPDATE ON verdicts
BEGIN SELECT RAISE(ABORT, 'verdicts: rows are insert-only'); END;

CREATE TRIGGER verdicts_guard_delete BEFORE DELETE ON verdicts
BEGIN SELECT RAISE(ABORT, 'verdicts: rows are insert-only'); END;

CREATE TRIGGER verdict_hypotheses_guard_insert BEFORE INSERT ON verdict_hypotheses
WHEN (SELECT state FROM preregistrations WHERE id = NEW.preregistration_id) IS NOT 'complete'
  OR EXISTS (SELECT 1 FROM verdict_hypotheses WHERE rowid = NEW.rowid
             OR (preregistration_id = NEW.preregistration_id AND hypothesis = NEW.hypothesis))
BEGIN SELECT RAISE(ABORT, 'verdict_hypotheses: the record is not complete, or has this row'); END;

CREATE TRIGGER verdict_hypotheses_guard_update BEFORE UPDATE ON verdict_hypotheses
BEGIN SELECT RAISE(ABORT, 'verdict_hypotheses: rows are insert-only'); END;

CREATE TRIGGER verdict_hypotheses_guard_delete BEFORE DELETE ON verdict_hypotheses
BEGIN SELECT RAISE(ABORT, 'verdict_hypotheses: rows are insert-only'); END;

-- ledger_entries: insert-only, without gaps. Their head only grows, one leaf at a time.

CREATE TRIGGER ledger_entries_guard_insert BEFORE INSERT ON ledger_entries
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence) + 1, 0) FROM ledger_entries)
BEGIN SELECT RAISE(ABORT, 'ledger_entries: the sequence is not the next one'); END;

CREATE TRIGGER ledger_entries_guard_update BEFORE UPDATE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'ledger_entries: rows are insert-only'); END;

CREATE TRIGGER ledger_entries_guard_delete BEFORE DELETE ON ledger_entries
BEGIN SELECT RAISE(ABORT, 'ledger_entries: rows are insert-only'); END;

CREATE TRIGGER ledger_head_guard_insert BEFORE INSERT ON ledger_head
BEGIN SELECT RAISE(ABORT, 'ledger_head: there is one log'); END;

CREATE TRIGGER ledger_head_guard_update BEFORE UPDATE ON ledger_head
WHEN NEW.id IS NOT OLD.id OR NEW.size IS NOT OLD.size + 1
  OR NEW.size IS NOT (SELECT max(sequence) + 1 FROM ledger_entries)
BEGIN SELECT RAISE(ABORT, 'ledger_head: the log grows by the leaf that was just added'); END;

CREATE TRIGGER ledger_head_guard_delete BEFORE DELETE ON ledger_head
BEGIN SELECT RAISE(ABORT, 'ledger_head: there is one log'); END;

-- audit_events: insert-only.

CREATE TRIGGER audit_events_guard_insert BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'audit_events: rows are insert-only'); END;

CREATE TRIGGER audit_events_guard_update BEFORE UPDATE ON audit_events
BEGIN SELECT RAISE(ABORT, 'audit_events: rows are insert-only'); END;

CREATE TRIGGER audit_events_guard_delete BEFORE DELETE ON audit_events
BEGIN SELECT RAISE(ABORT, 'audit_events: rows are insert-only'); END;
