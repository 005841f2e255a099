"""Results as bytes: JSON, CSV, Arrow and Parquet, in a content coding."""
