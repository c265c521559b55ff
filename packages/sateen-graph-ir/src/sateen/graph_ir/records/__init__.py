"""Measurements of problems: their lines in files, what counts of them, and how files are joined."""

from sateen.graph_ir.records.machine import PACKAGES, installed_versions, machine_facts, machine_text
from sateen.graph_ir.records.merging import merged
from sateen.graph_ir.records.record import (
    BEGINNING,
    BEGUN,
    FAILED,
    MOST_LINE_BYTES,
    Attempt,
    Comparison,
    Record,
    is_cut,
    parse_line,
)
from sateen.graph_ir.records.records import Records
from sateen.graph_ir.records.shipped import ShippedRecords, pack, shipped_name

__all__ = [
    "BEGINNING",
    "BEGUN",
    "FAILED",
    "MOST_LINE_BYTES",
    "PACKAGES",
    "Attempt",
    "Comparison",
    "Record",
    "Records",
    "ShippedRecords",
    "installed_versions",
    "is_cut",
    "machine_facts",
    "machine_text",
    "merged",
    "pack",
    "parse_line",
    "shipped_name",
]
