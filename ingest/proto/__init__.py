"""Protobuf message classes, built from descriptors at import. Knows no decoding rules."""
