"""OTLP/gRPC: a process of its own, one per host, that stores as the workers do. grpcio and gevent never meet."""
