"""The schemas in which a session looks for names, in a form that is safe to set. Pure."""

from pgwire.sql_text import quoted


def search_path(shown: str, user: str) -> str:
    """The list as SQL, each name quoted.

    >>> search_path('"$user", public', "ann")
    '"ann", "public"'
    >>> search_path("", "ann")
    "''"
    """
    names = [each.strip().strip('"').replace('""', '"').strip("'") for each in shown.split(",")]
    return ", ".join(quoted(user if name == "$user" else name) for name in names if name) or "''"
