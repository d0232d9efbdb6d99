"""Write the demo's table: `python make_data.py sales.csv` (about 150 MB of text, every value another one)."""

import sys
from pathlib import Path

COLUMNS = 20
ROWS = 350_000


def main(path: str) -> None:
    """Write the table to `path`."""
    row = ",".join(f"customer {{0:07}}-{i}" for i in range(COLUMNS)) + "\n"
    with Path(path).open("w") as file:
        file.write(",".join(f"column_{i}" for i in range(COLUMNS)) + "\n")
        file.writelines(row.format(number) for number in range(ROWS))


if __name__ == "__main__":
    main(sys.argv[1])
