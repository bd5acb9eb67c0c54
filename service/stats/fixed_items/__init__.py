"""These very items, of which runs alone vary: version 1 by skewness, version 2 with what no run showed."""

from service.stats.fixed_items.fixed_items import fixed_items as fixed_items
from service.stats.fixed_items.skewed import fixed_items_by_skewness as fixed_items_by_skewness
