"""Neural networks: layers of NeuralNetwork.proto, on blobs of float32."""
