"""Splunk's answers by number, as its senders know them ("Troubleshoot HTTP Event Collector")."""

from typing import Final

SUCCESS: Final = 0
TOKEN_REQUIRED: Final = 2
FORBIDDEN: Final = 4
NO_DATA: Final = 5
INVALID_DATA: Final = 6
INCORRECT_INDEX: Final = 7
INTERNAL_ERROR: Final = 8
BUSY: Final = 9
NO_EVENT: Final = 12
BLANK_EVENT: Final = 13
ACK_DISABLED: Final = 14
INVALID_FIELDS: Final = 15
HEALTHY: Final = 17
UNHEALTHY: Final = 18
TOO_LARGE: Final = 27

# The detail of an error that names one of these.
DETAIL: Final = "splunk_code"
