"""Pictures as Vega-Lite specs: pure functions from an answer or a verdict, with the numbers inside."""
