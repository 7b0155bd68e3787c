"""The work of ``biosfa monitor``: fitting, checking files and lines, accepting, comparing."""
