"""Parquet files: written, named by the manifest, kept in a directory or a bucket, cached."""
