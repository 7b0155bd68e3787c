"""Progress bars, the style of figures, and reports."""
