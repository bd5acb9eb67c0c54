"""Two arms with repeated runs and judgements: the difference, where its error comes from, and what to buy next."""

from service.stats.repeated import repeated as repeated
