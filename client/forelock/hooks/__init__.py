"""What harnesses call while they run: rows go to the spool and from there to the service.

Nothing has to be imported in an evaluation: harnesses find these modules by their entry points, and they do nothing
until `FORELOCK_RECORD` names a preregistration.
"""
