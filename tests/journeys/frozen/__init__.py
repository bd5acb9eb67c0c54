"""Bundles as earlier versions made them: every later version has to verify them and judge them alike."""
