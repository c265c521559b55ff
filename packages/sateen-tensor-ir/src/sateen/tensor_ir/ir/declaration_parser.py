"""Reads declarations of the text form: types of buffers, data of constants, devices and queues."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error

import numpy as np

from sateen.runtime.device import Device
from sateen.runtime.dtype import DType
from sateen.runtime.errors import ArgumentError
from sateen.tensor_ir.ir import expr as ex
from sateen.tensor_ir.ir.buffer import Buffer, Scope
from sateen.tensor_ir.ir.device_work import Queue
from sateen.tensor_ir.ir.expr import Expr
from sateen.tensor_ir.ir.expression_parser import ExpressionParser
from sateen.tensor_ir.ir.tokens import Cursor, ParseError


class DeclarationParser:
    """Reads declarations at a cursor, with the expressions in them."""

    def __init__(self, cursor: Cursor, expressions: ExpressionParser) -> None:
        self.cursor = cursor
        self.expressions = expressions

    def buffer(self, name: str, data: bool = False) -> Buffer:
        """The type of a buffer, and for a constant its data."""
        scope = next((s for s in Scope if self.cursor.accept(s.value)), Scope.GLOBAL)
        dtype = self.expressions.dtype()
        self.cursor.expect("[")
        shape = self.expressions.listed("]")
        strides = None
        if self.cursor.accept("strides"):
            self.cursor.expect("[")
            strides = self.expressions.listed("]")
        alignment = self.cursor.integer() if self.cursor.accept("align") else 64
        device = self.device() if self.cursor.accept("on") else None
        content = self.data(shape, dtype) if data else None
        return Buffer(name, shape, dtype, scope, strides, alignment, content, device)

    def device(self) -> Device:
        """`opencl(0)`."""
        token = self.cursor.next()
        self.cursor.expect("(")
        index = self.cursor.integer()
        self.cursor.expect(")")
        try:
            return Device.of(f"{token.text}({index})")
        except ArgumentError as error:
            raise ParseError(f"line {token.line}, column {token.column}: {error}") from None

    def queue(self) -> Queue:
        """`opencl(0)`, or `opencl(0) queue 1`."""
        return Queue(self.device(), self.cursor.integer() if self.cursor.accept("queue") else 0)

    def data(self, shape: tuple[Expr, ...], dtype: DType) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        self.cursor.expect("=")
        token = self.cursor.next()
        extents = [int(e.value) for e in shape if isinstance(e, ex.Const)]
        size = int(np.prod(extents, dtype=np.int64)) * dtype.bytes
        if token.kind != "string" or len(extents) != len(shape):
            self.cursor.fail("data in base64 of a constant shape", token)
        try:
            data = b64decode(token.text[1:-1], validate=True)
        except Base64Error:
            self.cursor.fail("data in base64", token)
        if len(data) != size:
            self.cursor.fail(f"{size} bytes in base64", token)
        return np.frombuffer(data, dtype.numpy).reshape(extents)
