"""Write the demo's table: `python make_data.py sales.csv` (about 150 MB of text)."""

import sys
from pathlib import Path

COLUMNS = 20
ROWS = 300_000


def main(path: str) -> None:
    row = ",".join(f"text value number {i}" for i in range(COLUMNS)) + "\n"
    with Path(path).open("w") as file:
        file.write(",".join(f"column_{i}" for i in range(COLUMNS)) + "\n")
        file.writelines(row * 1000 for _ in range(ROWS // 1000))


if __name__ == "__main__":
    main(sys.argv[1])
