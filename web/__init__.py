"""What endpoint groups share of HTTP: authentication, bodies, errors, audit. Knows no route."""
