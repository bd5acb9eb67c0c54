"""What lint answers about power and level, as records, and which number of them stands first."""
