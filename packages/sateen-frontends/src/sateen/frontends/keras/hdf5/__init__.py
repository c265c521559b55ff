"""Reads HDF5 files as Keras writes them: groups, arrays of numbers, attributes of text, from memory and within bounds.

The HDF Group's library, which h5py is built on, never returns from some damaged files; so this room reads the few
structures that Keras's files have, and refuses others. Source: HDF5 File Format Specification, version 3.0.
"""

from sateen.frontends.keras.hdf5.groups import Hdf5Group, open_hdf5

__all__ = ["Hdf5Group", "open_hdf5"]
