"""From result files to one table: how they are read, which systems they hold, and what the command line chose."""
