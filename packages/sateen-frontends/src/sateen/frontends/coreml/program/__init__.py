"""ML programs: operations of MIL.proto on typed tensors, with weights in files of the package."""
