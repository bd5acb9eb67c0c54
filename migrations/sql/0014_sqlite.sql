-- Guards of SQLite, in the manner of 0001: INSERT guards also refuse a row whose key or rowid is there already.

-- series: insert-only.

CREATE TRIGGER series_guard_insert BEFORE INSERT ON series
WHEN EXISTS (SELECT 1 FROM series WHERE id = NEW.id OR (project_id = NEW.project_id AND name = NEW.name) OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'series: there is one of that id or name'); END;

CREATE TRIGGER series_guard_update BEFORE UPDATE ON series
BEGIN SELECT RAISE(ABORT, 'series: rows are insert-only'); END;

CREATE TRIGGER series_guard_delete BEFORE DELETE ON series
BEGIN SELECT RAISE(ABORT, 'series: rows are insert-only'); END;

-- series_rosters: insert-only.

CREATE TRIGGER series_rosters_guard_insert BEFORE INSERT ON series_rosters
WHEN EXISTS (SELECT 1 FROM series_rosters WHERE (series_id = NEW.series_id AND sha256 = NEW.sha256) OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'series_rosters: it is there'); END;

CREATE TRIGGER series_rosters_guard_update BEFORE UPDATE ON series_rosters
BEGIN SELECT RAISE(ABORT, 'series_rosters: rows are insert-only'); END;

CREATE TRIGGER series_rosters_guard_delete BEFORE DELETE ON series_rosters
BEGIN SELECT RAISE(ABORT, 'series_rosters: rows are insert-only'); END;

-- series_points: insert-only, numbered without gaps.

CREATE TRIGGER series_points_guard_insert BEFORE INSERT ON series_points
WHEN NEW.number IS NOT
     (SELECT coalesce(max(number), 0) + 1 FROM series_points WHERE series_id = NEW.series_id)
  OR EXISTS (SELECT 1 FROM series_points WHERE (series_id = NEW.series_id AND name = NEW.name) OR rowid = NEW.rowid)
BEGIN SELECT RAISE(ABORT, 'series_points: the name is there, or the number is not the next one'); END;

CREATE TRIGGER series_points_guard_update BEFORE UPDATE ON series_points
BEGIN SELECT RAISE(ABORT, 'series_points: rows are insert-only'); END;

CREATE TRIGGER series_points_guard_delete BEFORE DELETE ON series_points
BEGIN SELECT RAISE(ABORT, 'series_points: rows are insert-only'); END;
