"""How things are shown to people: progress bars, and the style of figures."""
