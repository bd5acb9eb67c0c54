-- Guards of Postgres, in the manner of 0001, whose functions they share.

-- stamps: numbered without gaps for each checkpoint and kind; after one that waits for nothing comes none.

CREATE FUNCTION forelock_guard_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.kind IN ('rfc3161', 'opentimestamps')) IS NOT TRUE OR (NEW.waiting IN (0, 1)) IS NOT TRUE
     OR (octet_length(NEW.content) > 0) IS NOT TRUE
     OR NEW.number IS DISTINCT FROM (SELECT coalesce(max(number), 0) + 1 FROM stamps
                                     WHERE size = NEW.size AND signer = NEW.signer AND kind = NEW.kind)
     OR EXISTS (SELECT FROM stamps
                WHERE size = NEW.size AND signer = NEW.signer AND kind = NEW.kind
                AND (waiting = 0 OR note_sha256 IS DISTINCT FROM NEW.note_sha256
                     OR root IS DISTINCT FROM NEW.root)) THEN
    RAISE EXCEPTION 'stamps: this is not the next stamp of its checkpoint'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER stamps_guard_insert BEFORE INSERT ON stamps FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_stamp();
CREATE TRIGGER stamps_guard_update BEFORE UPDATE ON stamps FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER stamps_guard_delete BEFORE DELETE ON stamps FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');
CREATE TRIGGER stamps_guard_truncate BEFORE TRUNCATE ON stamps
  EXECUTE FUNCTION forelock_refuse('rows are insert-only');

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname = 'stamps' AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  EXECUTE format('ALTER FUNCTION forelock_guard_stamp() SET search_path = %I, pg_temp', current_schema());
END $$;
