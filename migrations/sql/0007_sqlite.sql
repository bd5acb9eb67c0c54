-- runs: insert-only, numbered without gaps, while the record takes results.

CREATE TRIGGER runs_guard_insert BEFORE INSERT ON runs
WHEN coalesce((SELECT state FROM preregistrations WHERE id = NEW.preregistration_id), '') NOT IN ('locked', 'collecting')
  OR NEW.number IS NOT
     (SELECT coalesce(max(number), 0) + 1 FROM runs WHERE preregistration_id = NEW.preregistration_id)
  OR EXISTS (SELECT 1 FROM runs WHERE rowid = NEW.rowid
             OR (preregistration_id = NEW.preregistration_id AND run = NEW.run))
BEGIN SELECT RAISE(ABORT, 'runs: the record takes no runs, or has this one'); END;

CREATE TRIGGER runs_guard_update BEFORE UPDATE ON runs
BEGIN SELECT RAISE(ABORT, 'runs: rows are insert-only'); END;

CREATE TRIGGER runs_guard_delete BEFORE DELETE ON runs
BEGIN SELECT RAISE(ABORT, 'runs: rows are insert-only'); END;

-- An amendment is the next version of a plan that has no batch yet, not even a void one: its text first, then the head.

DROP TRIGGER plans_guard_insert;

CREATE TRIGGER plans_guard_insert BEFORE INSERT ON plans
WHEN NOT EXISTS (
    SELECT 1 FROM preregistrations WHERE id = NEW.preregistration_id AND (
      (state = 'draft' AND version = NEW.version)
      OR (state = 'locked' AND version + 1 = NEW.version
          AND NOT EXISTS (SELECT 1 FROM batches WHERE preregistration_id = NEW.preregistration_id))))
  OR EXISTS (SELECT 1 FROM plans WHERE rowid = NEW.rowid
             OR (preregistration_id = NEW.preregistration_id AND version = NEW.version))
BEGIN SELECT RAISE(ABORT, 'plans: the preregistration is locked already'); END;

DROP TRIGGER preregistrations_guard_update;

CREATE TRIGGER preregistrations_guard_update BEFORE UPDATE ON preregistrations
WHEN NOT (
  NEW.rowid = OLD.rowid AND NEW.id IS OLD.id AND NEW.project_id IS OLD.project_id
  AND NEW.created_at IS OLD.created_at AND NEW.revision IS OLD.revision + 1
  AND NEW.version IS OLD.version + (OLD.state = 'locked' AND NEW.state = 'locked')
  AND CASE
    WHEN OLD.state = 'draft' AND NEW.state = 'draft' THEN
      NEW.lint IS NULL AND NEW.locked_at IS NULL AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL
    WHEN OLD.state = 'draft' OR (OLD.state = 'locked' AND NEW.state = 'locked') THEN
      NEW.state = 'locked' AND NEW.complete_at IS NULL AND NEW.judged_at IS NULL
      AND EXISTS (SELECT 1 FROM plans WHERE preregistration_id = NEW.id AND version = NEW.version
                  AND sha256 = NEW.plan_sha256 AND locked_at = NEW.locked_at)
      AND EXISTS (SELECT 1 FROM plan_keys WHERE preregistration_id = NEW.id)
      AND NOT EXISTS (SELECT 1 FROM batches WHERE preregistration_id = NEW.id)
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
