"""The OpenAPI description of the HTTP contract, made from the URL map and the Marshmallow schemas."""
