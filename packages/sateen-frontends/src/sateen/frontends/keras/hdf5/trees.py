"""Trees: of version 1, whose leaves list children, and of version 2, whose nodes all hold records (sections III.A.1 and
III.A.2)."""

from __future__ import annotations

from collections.abc import Iterator

from sateen.frontends.keras.hdf5.bytes_in_file import Fields, FileBytes

MOST_LEVELS = 32
"""The most levels of a tree."""
_BEFORE_RECORDS, _CHECKSUM = 6, 4
"""The bytes of a node of version 2 before and behind its records."""


def children_of_old_tree(file: FileBytes, root: int, key_bytes: int) -> Iterator[tuple[Fields, int]]:
    """The leaves of a tree of version 1: the key of each child, with its address."""
    pending = [(root, 0)]
    while pending:
        address, above = pending.pop()
        node = file.reader(address, 8 + 2 * file.offsets, b"TREE")
        node.take(1)
        level, count = node.number(1), node.number(2)
        if level > MOST_LEVELS or above > MOST_LEVELS:
            raise file.damaged(f"a tree has more than {MOST_LEVELS} levels")
        children = file.reader(address + 8 + 2 * file.offsets, count * (key_bytes + file.offsets))
        for _ in range(count):
            key, child = Fields(file, children.take(key_bytes)), children.address()
            if level:
                pending.append((child, above + 1))
            else:
                file.count_structure()
                yield key, child


def records_of_new_tree(file: FileBytes, root: int) -> Iterator[Fields]:
    """The records of a tree of version 2, in no order. A node tells of each child how many records it has, and below
    the last level how many are in all its nodes, in as many bytes as the largest such number takes."""
    head = file.reader(root, 16 + file.offsets + 2 + file.lengths, b"BTHD")
    head.take(2)
    node_bytes, record_bytes, depth = head.number(4), head.number(2), head.number(2)
    head.take(2)
    address, count = head.address(), head.number(2)
    if address == file.undefined or count == 0:
        return
    if depth > MOST_LEVELS or not record_bytes or node_bytes < _BEFORE_RECORDS + record_bytes + _CHECKSUM:
        raise file.damaged(f"expected a tree at {root}")
    most = (node_bytes - _BEFORE_RECORDS - _CHECKSUM) // record_bytes
    count_bytes = _bytes_of(most)
    totals = [0]
    for _ in range(depth):
        pointer = file.offsets + count_bytes + totals[-1]
        here = max(node_bytes - _BEFORE_RECORDS - _CHECKSUM - pointer, 0) // (record_bytes + pointer)
        most = (here + 1) * most + here
        totals.append(_bytes_of(most))
    pending = [(address, count, depth)]
    while pending:
        address, count, level = pending.pop()
        node = file.reader(address, node_bytes, b"BTIN" if level else b"BTLF")
        node.take(2)
        for _ in range(count):
            file.count_structure()
            yield Fields(file, node.take(record_bytes))
        for _ in range(count + 1 if level else 0):
            child, inside = node.address(), node.number(count_bytes)
            node.take(totals[level - 1])
            pending.append((child, inside, level - 1))


def _bytes_of(number: int) -> int:
    """The bytes that a number takes."""
    return max((number.bit_length() + 7) // 8, 1)
