"""Several arms on the same items: which can be told apart, which may be the best, and where each may rank."""

from service.stats.leaderboard import leaderboard as leaderboard
