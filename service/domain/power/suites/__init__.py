"""Power and level of rules about suites, whose tasks are drawn with the sizes they have."""
