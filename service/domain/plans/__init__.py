"""Plans and the records that hold them."""
