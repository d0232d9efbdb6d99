from ...fix import Advice, Case, Death


class DuckdbOnADisk(Advice):
    """Let DuckDB put on a disk what does not fit.

    What it does: Joins, sorts and groups that do not fit below `memory_limit` are continued in files of
    `temp_directory`, up to `max_temp_directory_size`. Lists of all values of a group stay in memory all the same.

    When it is offered: DuckDB said that it was out of memory.

    What it costs: Time and room on the disk.
    """

    id, title = "duckdb-on-a-disk", "Give DuckDB room on a disk, or a higher memory_limit"
    causes = ("allocation-refused",)
    library = "duckdb"
    why = (
        "DuckDB keeps to its own `memory_limit`, and had no room in temporary files. Fewer threads need less at a "
        "time; a sum or a count for each group needs less than a list."
    )
    snippet = (
        'import duckdb\n\ncon = duckdb.connect("work.duckdb")  # a file: what does not fit is put beside it\n'
        "con.execute(\"SET memory_limit = '2GB'; SET threads = 2; SET preserve_insertion_order = false\")\n"
        "con.execute(\"SET temp_directory = 'duckdb_tmp'; SET max_temp_directory_size = '20GB'\")"
    )

    FIRES = [Case("import duckdb", "duckdb.sql(q)", alive=True, says=("temp_directory",))]
    SILENT = [Case("import numpy as np", "np.ones(n)", alive=True)]

    def saves(self, death: Death) -> int | None:
        """Count all that was missing, where it was DuckDB that refused."""
        by_duckdb = death.incident is None or "duckdb" in death.incident.error.lower()
        return (death.memory.missing_bytes or 1) if by_duckdb else None
