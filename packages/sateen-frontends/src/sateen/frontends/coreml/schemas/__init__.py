"""The messages of CoreML models: coreml.proto, and coreml_pb2.py, which protoc makes of it."""
