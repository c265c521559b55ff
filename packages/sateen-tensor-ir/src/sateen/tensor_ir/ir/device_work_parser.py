"""Reads the work of devices in the text form: launches, copies and waits, each behind its first word."""

from __future__ import annotations

from sateen.tensor_ir.ir.buffer import Buffer
from sateen.tensor_ir.ir.declaration_parser import DeclarationParser
from sateen.tensor_ir.ir.device_work import Copy, Launch, Wait
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.expression_parser import ExpressionParser
from sateen.tensor_ir.ir.stmt import Stmt
from sateen.tensor_ir.ir.tokens import Cursor


class DeviceWorkParser:
    """Statements on the queues of devices."""

    def __init__(self, cursor: Cursor, expressions: ExpressionParser, declarations: DeclarationParser) -> None:
        self.cursor = cursor
        self.expressions = expressions
        self.declarations = declarations

    def launch(self, _: int) -> Stmt:
        kernel = self.cursor.new_name()
        self.cursor.expect("(")
        buffers: list[Buffer] = []
        offsets: list[Expr] = []
        scalars: list[Expr] = []
        while not self.cursor.accept(")"):
            if buffers or scalars:
                self.cursor.expect(",")
            is_buffer = isinstance(self.expressions.names.get(self.cursor.token.text), Buffer)
            if is_buffer and scalars:
                self.cursor.fail("a scalar, as behind other scalars")
            if is_buffer:
                buffers.append(self.expressions.known_buffer())
                self.cursor.expect("+")
                offsets.append(self.expressions.expr())
            else:
                scalars.append(self.expressions.expr())
        self.cursor.expect("grid")
        self.cursor.expect("[")
        token = self.cursor.token
        grid = self.expressions.listed("]")
        self.cursor.expect("block")
        self.cursor.expect("[")
        block = [self.cursor.integer()]
        while self.cursor.accept(","):
            block.append(self.cursor.integer())
        self.cursor.expect("]")
        if (len(grid), len(block)) != (3, 3) or not all(0 < threads < 1 << 31 for threads in block):
            self.cursor.fail("three extents of the grid, and three numbers of threads of the block", token)
        self.cursor.expect("on")
        queue = self.declarations.queue()
        self.cursor.end_of_line()
        return Launch(kernel, queue, grid, tuple(block), tuple(buffers), tuple(offsets), tuple(scalars))

    def copy(self, _: int) -> Stmt:
        target = self.expressions.known_buffer()
        self.cursor.expect("+")
        target_offset = self.expressions.expr()
        self.cursor.expect("=")
        source = self.expressions.known_buffer()
        self.cursor.expect("+")
        source_offset = self.expressions.expr()
        self.cursor.expect(",")
        size = self.expressions.expr()
        self.cursor.expect("on")
        queue = self.declarations.queue()
        self.cursor.end_of_line()
        return Copy(queue, target, target_offset, source, source_offset, size)

    def wait(self, _: int) -> Stmt:
        self.cursor.expect("on")
        queue = self.declarations.queue()
        by = self.declarations.queue() if self.cursor.accept("by") else None
        self.cursor.end_of_line()
        return Wait(queue, by)
