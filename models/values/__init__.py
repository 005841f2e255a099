"""What rows of the catalogue are to everybody else: plain values. They know no table and no database, so that a process
that only gets them, as a query process, need not load either (docs/decisions/query-processes.md)."""
