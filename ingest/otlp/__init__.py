"""OTLP: logs, metrics and traces, protobuf and JSON, to columns. Knows no HTTP and no stored schema.

`logs.decode`, `metrics.decode` and `traces.decode` turn a request body into a `Decoded`. Each is written once,
column by column, against the `messages.Reader` protocol; `protobuf_reader` and `json_reader` are its two
implementations, and `table` settles names and types. Columns are documented in docs/ingestion-otlp.md.
"""
