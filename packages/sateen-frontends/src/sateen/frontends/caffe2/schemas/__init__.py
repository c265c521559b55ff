"""The description of the messages that are read, and the code that protoc makes of it, in the folder `src`:

python -m grpc_tools.protoc --proto_path=. --python_out=. sateen/frontends/caffe2/schemas/net.proto
"""
