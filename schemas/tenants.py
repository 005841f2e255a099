"""The bodies of tenant requests."""

from marshmallow import EXCLUDE, Schema, fields


class NewTenantSchema(Schema):
    """Who is to be the tenant's first administrator."""

    class Meta:
        unknown = EXCLUDE

    admin = fields.String(required=True)
