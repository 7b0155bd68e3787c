"""CSV, of all sorts."""

CELLS = [
    "",
    " ",
    "nan",
    "NaN",
    "NA",
    "<NA>",
    "NaT",
    "null",
    "None",
    "-",
    ".",
    "inf",
    "-inf",
    "Infinity",
    "1e",
    "1e5",
    "1E+400",
    "-1e-400",
    "0x10",
    "1_000",
    "1,5",
    "٣",
    "true",
    "True",
    "#",
    "# comment",
    "x",
    "x y",
    '"',
    '""',
    '"1"',
    '"a,b"',
    '"a\nb"',
    "'1'",
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "\x00",
    "\x1b[31m",
    "\ufeff1",
    "1" * 400,
    "9" * 140_000,
    "é",
    "$\\foo$",
]
DELIMITERS = [",", ",", ",", ";", "\t", " ", "|"]
ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n\r"]
CODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32"]


def write_csv(path, rng):
    """A table of numbers, and often something else in a cell or two."""
    n_rows, n_columns = rng.choice([0, 1, 2, 5, 30, 30, 300]), rng.choice([1, 1, 2, 3, 3, 8, 200])
    rows = [[f"{rng.gauss(0, 1):.6g}" for _ in range(n_columns)] for _ in range(n_rows)]
    if rng.random() < 0.5:
        names = [f"c{i}" for i in range(n_columns)]
        rows.insert(0, names)
        if rng.random() < 0.3:
            names[rng.randrange(n_columns)] = rng.choice([*CELLS, "c0", "c1", "time"])
    for _ in range(rng.choice([0, 0, 1, 1, 2, 5])):
        if rows:
            row = rng.choice([rows[0], rng.choice(rows)])
            row[rng.randrange(len(row))] = rng.choice(CELLS)
    if rng.random() < 0.15 and rows:
        row = rng.choice(rows)
        row.extend(["1"] * rng.choice([1, 3])) if rng.random() < 0.5 else row.pop()
    delimiter, end = rng.choice(DELIMITERS), rng.choice(ENDS)
    lines = [delimiter.join(row) for row in rows]
    if rng.random() < 0.1:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(["", "#", "# a comment", delimiter * 3, " "]))
    content = end.join(lines) + (end if rng.random() < 0.8 else "")
    path.write_bytes(content.encode(rng.choice(CODINGS), errors="replace"))
