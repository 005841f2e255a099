"""Prometheus remote write, 1.0 and 2.0, to columns. Knows no HTTP and no stored schema.

`decoding.decode` is the door. `plain` builds rows series by series and is always right; `warm` serves what
Prometheus sends all day, one sample per known series, without looking at labels at all. Columns are documented in
docs/ingestion-prometheus.md.
"""
