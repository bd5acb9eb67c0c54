-- Guards of Postgres, in the manner of 0001, whose functions they share.

-- view_links: a link is made and revoked, and nothing else; what was revoked stays so.

CREATE FUNCTION forelock_guard_view_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.preregistration_id, NEW.name, NEW.anonymous, NEW.token_sha256, NEW.key_id, NEW.created_at,
      NEW.expires_at)
     IS DISTINCT FROM
     (OLD.id, OLD.preregistration_id, OLD.name, OLD.anonymous, OLD.token_sha256, OLD.key_id, OLD.created_at,
      OLD.expires_at)
     OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at) THEN
    RAISE EXCEPTION 'view_links: a link is revoked, and nothing else'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER view_links_guard_update BEFORE UPDATE ON view_links FOR EACH ROW
  EXECUTE FUNCTION forelock_guard_view_link();
CREATE TRIGGER view_links_guard_delete BEFORE DELETE ON view_links FOR EACH ROW
  EXECUTE FUNCTION forelock_refuse('rows stay; revoke the link instead');
CREATE TRIGGER view_links_guard_truncate BEFORE TRUNCATE ON view_links
  EXECUTE FUNCTION forelock_refuse('rows stay');

-- As in 0001: the guards hold under replication, and their functions read the tables of this schema.

DO $$
DECLARE
  guard record;
BEGIN
  FOR guard IN
    SELECT t.tgname, c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname = 'view_links' AND t.tgname LIKE '%\_guard\_%'
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ALWAYS TRIGGER %I', guard.relname, guard.tgname);
  END LOOP;
  FOR guard IN
    SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace
      AND p.proname = 'forelock_guard_view_link'
  LOOP
    EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', guard.proname, current_schema());
  END LOOP;
END $$;
