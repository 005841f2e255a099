"""What the `main` of every background process does first."""

import argparse

import logs
from config import Settings
from processes.child import Wait, end_with_parent


def start(purpose: str | None) -> tuple[Settings, Wait]:
    """The settings, from the environment, and the function that waits for the end; log lines go where they are wanted.

    Reads `--parent PID` and `--log-to FD` from the command line, whose help tells the `purpose`. Call it before any
    thread starts, so that all of them leave the signals to this one. Raises InvalidSetting.
    """
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--parent", type=int, metavar="PID", help="end when this process, our parent, has ended")
    parser.add_argument("--log-to", type=int, metavar="FD", help="an inherited socket for the log lines")
    options = parser.parse_args()
    settings = Settings.from_env()
    logs.configure(settings.log_format, settings.log_level)
    logs.withhold()
    if options.log_to is not None:
        logs.relay(options.log_to)
    return settings, end_with_parent(options.parent)
