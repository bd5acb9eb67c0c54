"""The database itself: engine, tables, types, schema, guards, roles, paging, backups."""
