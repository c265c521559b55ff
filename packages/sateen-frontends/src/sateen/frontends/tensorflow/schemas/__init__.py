"""Messages of TensorFlow's files; tensorflow_pb2 is generated from tensorflow.proto by protoc 25, of
grpcio-tools 1.62."""
