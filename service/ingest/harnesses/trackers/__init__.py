"""Exports of trackers and results of libraries: records with their scores, whatever wrote them."""
