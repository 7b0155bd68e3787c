"""Progress bars, and the style of figures."""
