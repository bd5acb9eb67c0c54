from service.store import schema


def test_a(database):
    assert schema.missing_triggers(database.engine) == []


def test_b(database):
    assert schema.missing_triggers(database.engine) == []


def test_c(database):
    assert schema.missing_triggers(database.engine) == []
