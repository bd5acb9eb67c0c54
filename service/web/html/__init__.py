"""What every page is made with: templates, the words of the pages, forms, and pictures."""
