"""What a query reads: one moment of log and manifest as a snapshot, and its rows as a frame."""
