"""The PostgreSQL wire protocol in front of queries: sessions of any PostgreSQL client, as greenlets of the workers."""
