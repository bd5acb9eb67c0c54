"""What follows from complete results: looks, verdicts, deviations, evidence, reports, bundles."""
