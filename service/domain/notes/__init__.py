"""What is said beside a verdict when it is read: next steps, and how much weak studies exaggerate."""
