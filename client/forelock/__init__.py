"""The Forelock client: post results, read verdicts."""
