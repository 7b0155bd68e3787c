"""What is wrong with a frame before its rows are looked at. No library of frames is imported."""

from typing import Any

from biosfa.wording import quoted


def unread(X: Any) -> str | None:
    """Return what to give in place of something that has no rows, or that nothing here can read."""
    if hasattr(X, "collect_schema") and not hasattr(X, "get_columns"):  # polars
        return "a LazyFrame has no rows yet: give frame.collect()"
    if hasattr(X, "column_names") and hasattr(X, "combine_chunks"):  # pyarrow
        return "tables of pyarrow are not frames: give table.to_pandas()"
    return None


def repeated_name(X: Any) -> str | None:
    """Return the name, as messages show it, of the first column of a frame that has the name of another one."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    seen = set()
    for name in X.columns:
        if name in seen:
            return quoted(str(name))
        seen.add(name)
    return None
