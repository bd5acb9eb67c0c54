"""Outside witnesses: what is asked of a time stamp authority and of OpenTimestamps calendars."""
