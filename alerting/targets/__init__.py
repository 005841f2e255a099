"""The kinds of targets, a module each: `KIND` says what one is made of and how a notice is sent there.

Nothing lists them: `alerting.registry` finds what lies here (docs/alerts.md, "A kind of your own").
"""
