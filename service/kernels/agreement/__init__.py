"""How raters, judges or items of a test agree: coefficients, and the analysis of items."""
