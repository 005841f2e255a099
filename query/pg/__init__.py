"""PostgreSQL's data types and the text forms of their values. Pure; knows no plan and no frame."""
