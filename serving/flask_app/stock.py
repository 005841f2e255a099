"""Flask as it comes, through its documented extension points alone (`WEIR_HTTP_STACK=stock`)."""

from flask import Flask

from serving.flask_app.current import Request
from serving.flask_app.json_answers import CompactJSON


class StockApplication(Flask):
    """Flask whose requests know their identity, and whose JSON is orjson's."""

    request_class = Request
    json_provider_class = CompactJSON
