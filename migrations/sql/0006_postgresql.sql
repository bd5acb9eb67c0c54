-- Guards of Postgres, in the manner of 0001, whose functions they share.

-- ledger_nodes: one row for every leaf that makes a subtree whole, which is every second one.

CREATE FUNCTION forelock_guard_ledger_nodes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  hashes bigint := octet_length(NEW.hashes) / 32;
BEGIN
  IF NEW.sequence IS DISTINCT FROM (SELECT coalesce(max(sequence) + 2, 1) FROM ledger_nodes)
     OR (NEW.sequence <= (SELECT max(sequence) FROM ledger_entries)) IS NOT TRUE
     OR octet_length(NEW.hashes) IS DISTINCT FROM hashes * 32
     OR (1::bigint << hashes::int) IS DISTINCT FROM ((NEW.sequence + 1) & -(NEW.sequence + 1)) THEN
    RAISE EXCEPTION 'ledger_nodes: these are not the hashes that the next leaf makes whole'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- ledger_head: it grows when the leaves that were just added have their hashes.

CREATE OR REPLACE FUNCTION forelock_guard_ledger_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.id IS DISTINCT FROM OLD.id OR (NEW.size > OLD.size) IS NOT TRUE
     OR NEW.size IS DISTINCT FROM (SELECT max(sequence) + 1 FROM ledger_entries)
     OR NEW.size / 2 * 2 IS DISTINCT FROM (SELECT coalesce(max(sequence) + 1, 0) FROM ledger_nodes) THEN
    RAISE EXCEPTION 'ledger_head: the log grows by the leaves that were just added'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- ledger_signers: numbered without gaps, each but the first by a leaf that says so.

CREATE FUNCTION forelock_guard_signer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number IS DISTINCT FROM (SELECT coalesce(max(number) + 1, 1) FROM ledger_signers)
     OR (NEW.sequence IS NULL) IS DISTINCT FROM (NEW.number = 1)
     OR (NEW.sequence IS NOT NULL AND NOT EXISTS (SELECT FROM ledger_entries
         WHERE sequence = NEW.sequence AND kind IN ('key_rotation', 'resumption'))) THEN
    RAISE EXCEPTION 'ledger_signers: the next signer follows from a leaf'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- ledger_checkpoints: by the last signer, each larger than those before and no larger than the log.

CREATE FUNCTION forelock_guard_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.size <= (SELECT size FROM ledger_head)) IS NOT TRUE
     OR (NEW.size >= (SELECT coalesce(max(size), 0) FROM ledger_checkpoints)) IS NOT TRUE
     OR NEW.signer IS DISTINCT FROM (SELECT max(number) FROM ledger_signers)
     OR EXISTS (SELECT FROM ledger_checkpoints WHERE size = NEW.size AND signer = NEW.signer) THEN
    RAISE EXCEPTION 'ledger_checkpoints: the next one is of a larger log, by who signs now'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER ledger_nodes_guard_insert BEFORE INSERT ON ledger_nodes FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_ledger_nodes();
CREATE TRIGGER ledger_nodes_guard_update BEFORE UPDATE ON ledger_nodes FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_nodes_guard_delete BEFORE DELETE ON ledger_nodes FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_nodes_guard_truncate BEFORE TRUNCATE ON ledger_nodes
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

CREATE TRIGGER ledger_signers_guard_insert BEFORE INSERT ON ledger_signers FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_signer();
CREATE TRIGGER ledger_signers_guard_update BEFORE UPDATE ON ledger_signers FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_signers_guard_delete BEFORE DELETE ON ledger_signers FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_signers_guard_truncate BEFORE TRUNCATE ON ledger_signers
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

CREATE TRIGGER ledger_checkpoints_guard_insert BEFORE INSERT ON ledger_checkpoints FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_checkpoint();
CREATE TRIGGER ledger_checkpoints_guard_update BEFORE UPDATE ON ledger_checkpoints FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_checkpoints_guard_delete BEFORE DELETE ON ledger_checkpoints FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER ledger_checkpoints_guard_truncate BEFORE TRUNCATE ON ledger_checkpoints
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname IN ('ledger_nodes', 'ledger_signers', 'ledger_checkpoints') AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  FOR guard IN
    SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname IN ('forelock_guard_ledger_nodes', 'forelock_guard_ledger_head', 'forelock_guard_signer',
                        'forelock_guard_checkpoint')
  LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', guard.proname, current_schema());
  END LOOP;
END $$;
