-- Guards of SQLite, in the manner of 0001: INSERT guards also refuse a row whose key or rowid is there already.

-- view_links: a link is made and revoked, and nothing else; what was revoked stays so.

CREATE TRIGGER view_links_guard_insert BEFORE INSERT ON view_links
WHEN NEW.revoked_at IS NOT NULL
  OR EXISTS (SELECT 1 FROM view_links
             WHERE id = NEW.id OR token_sha256 = NEW.token_sha256 OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'view_links: there is one of that id or token'); END;

CREATE TRIGGER view_links_guard_update BEFORE UPDATE ON view_links
WHEN NOT (
  NEW.rowid = OLD.rowid AND NEW.id IS OLD.id AND NEW.preregistration_id IS OLD.preregistration_id
  AND NEW.name IS OLD.name AND NEW.anonymous IS OLD.anonymous AND NEW.token_sha256 IS OLD.token_sha256
  AND NEW.key_id IS OLD.key_id AND NEW.created_at IS OLD.created_at AND NEW.expires_at IS OLD.expires_at
  AND (OLD.revoked_at IS NULL OR NEW.revoked_at IS OLD.revoked_at)
)
BEGIN SELECT RAISE(ABORT, 'view_links: a link is revoked, and nothing else'); END;

CREATE TRIGGER view_links_guard_delete BEFORE DELETE ON view_links
BEGIN SELECT RAISE(ABORT, 'view_links: rows stay; revoke the link instead'); END;
