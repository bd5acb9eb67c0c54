"""One function per thing a person or a job can do; the door owns the transaction."""
