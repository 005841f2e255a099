"""Several hosts: who this one is, and what the others have not converted yet."""
