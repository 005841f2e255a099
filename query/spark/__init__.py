"""Parts of bound plans computed by an existing Apache Spark cluster: what it may compute, and how it is asked."""
