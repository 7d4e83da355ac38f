"""Reads the ledger's file beside the process that writes it: read-only, no lock."""

import sqlite3
from pathlib import Path

from harness.processes import until


class Ledger:
    def __init__(self, path):
        self.path = Path(path)

    def query(self, sql, *parameters):
        connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10)
        connection.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in connection.execute(sql, parameters)]
        finally:
            connection.close()

    def requests(self):
        return self.query("SELECT * FROM requests ORDER BY admitted_at_ns")

    def row(self, request_id):
        """The one row of a request; fails where there is none or, impossibly, more."""
        rows = self.query("SELECT * FROM requests WHERE request_id = ?", request_id)
        assert len(rows) == 1, f"{len(rows)} ledger rows for {request_id}"
        return rows[0]

    def row_soon(self, request_id, seconds=5):
        """The row of a request that the client did not see the end of."""
        until(lambda: self.query("SELECT 1 FROM requests WHERE request_id = ?", request_id), seconds, "the row is written")
        return self.row(request_id)

    def charges(self, request_id):
        return self.query("SELECT * FROM charges WHERE request_id = ? ORDER BY attempt", request_id)

    def dollars(self):
        """Nanodollars of all charges and of all idle time, by replica."""
        charged = self.query("SELECT replica, sum(cost_nanousd) AS nano FROM charges GROUP BY replica")
        idle = self.query("SELECT replica, sum(idle_nanousd) AS nano FROM idle_costs GROUP BY replica")
        return {row["replica"]: row["nano"] for row in charged}, {row["replica"]: row["nano"] for row in idle}

    def tokens_of(self, request_id):
        row = self.row(request_id)
        return row["prompt_tokens"], row["cached_tokens"], row["completion_tokens"]
