"""The subcommands of `forelock`, one module per noun; each adds its parsers."""
