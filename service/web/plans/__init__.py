"""How a plan comes about: five questions, what it lacks, its page as a draft, and its lock."""
