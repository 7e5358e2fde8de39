"""What a judge is asked, what it decides, and how far it agrees with the measures."""
