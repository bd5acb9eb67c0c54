"""The list of preregistrations, and the pages of one: for members, and by a link for anybody."""
