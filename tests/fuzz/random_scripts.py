"""Draws the source of hybrid scripts over `a`, 8 numbers of float32, and `b`, 8 of int32.

Every script terminates and stays within its arrays. Numbers of float32 are multiples of powers of two, and nothing is
multiplied but by 0.5, so that no product is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

SIZE = 8
"""The elements of each array."""
HEAD = """
import numpy as np
from sateen.tensor_ir import hybrid, te
from sateen.tensor_ir.hybrid import allocate, const_range, output_tensor, parallel, serial, unroll, vectorize

TABLE = np.array([4, -1, 0, 9], "int32")


@hybrid.script
def larger(x, y):
    return max(x, y) if x != y else y


@hybrid.script
def total(t, first):
    result = t[first]
    for step in range(1, 3):
        result += t[(np.int64(first) + step) % 8]
    return result


"""


@dataclass(slots=True, eq=False)
class _Script:
    """The lines of a script so far, and the names that each block has, by type."""

    rng: Random
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    floats: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    indices: list[str] = field(default_factory=list)
    changing: list[tuple[str, str]] = field(default_factory=list)
    """The variables, with the letter of their type, f or i, that this block may change."""
    fresh: int = 0

    def line(self, text: str) -> None:
        self.lines.append(f"{'    ' * self.depth}{text}")

    def name(self, letter: str) -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}"

    def index(self) -> str:
        i = self.rng.choice(self.indices) if self.indices else "3"
        match self.rng.randrange(5):
            case 0:
                return f"({i} * {self.rng.randrange(1, 4)} + {self.rng.randrange(8)}) % 8"
            case 1 if self.integers:
                return f"{self.rng.choice(self.integers)} % 8"
            case 2:
                return str(self.rng.randrange(SIZE))
        return i

    def real(self, depth: int = 2) -> str:
        """An expression of float32."""
        if depth == 0 or self.rng.random() < 0.25:
            leaves = [f"a[{self.index()}]", f"f[{self.index()}]", *self.floats]
            return self.rng.choice(leaves)
        x, y = self.real(depth - 1), self.real(depth - 1)
        return self.rng.choice([
            f"({x} + {y})", f"({x} - {y})", f"{x} * 0.5", f"-{x}", f"max({x}, {y}, 0.25)", f"min({x}, {y})",
            f"abs({x})", f"({x} if {self.condition(0)} else {y})", f"larger({x}, {y})",
            f"te.select({x} > {y}, {y}, 0.75)", f"np.float32({self.whole(0)} % 64)", f"te.floor({x})",
            f"({x} + {self.rng.randrange(-4, 4)})",
        ])  # fmt: skip

    def whole(self, depth: int = 2) -> str:
        """An expression of int32."""
        if depth == 0 or self.rng.random() < 0.25:
            leaves = [f"b[{self.index()}]", f"TABLE[{self.index()} % 4]", f"g[{self.index()}]", *self.integers]
            return self.rng.choice(leaves)
        x, y = self.whole(depth - 1), self.whole(depth - 1)
        number = self.rng.randrange(1, 9)
        return self.rng.choice([
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"{x} // {number}", f"{x} % -{number}", f"({x} & {y})",
            f"({x} | {number})", f"({x} ^ {y})", f"~{x}", f"({x} << {number})", f"({x} >> {number})", f"abs({x})",
            f"({x} if {self.condition(0)} else {y})", f"min({x}, {y})", f"te.truncdiv({x}, {number})", f"-{x}",
            f"np.int32({self.index()})", f"{x}**2", f"np.int32({self.real(0)})", f"te.popcount({x})",
        ])  # fmt: skip

    def condition(self, depth: int = 1) -> str:
        match self.rng.randrange(6 if depth else 3):
            case 0:
                return f"{self.real(0)} {self.comparison()} {self.real(0)}"
            case 1:
                return f"{self.whole(0)} {self.comparison()} {self.rng.randrange(-9, 9)}"
            case 2:
                return f"2 <= {self.index()} < 6"
            case 3:
                return f"not {self.condition(0)}"
            case _:
                return f"({self.condition(0)} {self.rng.choice(['and', 'or'])} {self.condition(0)})"

    def comparison(self) -> str:
        return self.rng.choice(["<", "<=", ">", ">=", "==", "!="])

    def block(self, count: int, indices: tuple[str, ...] = ()) -> None:
        """Statements of one block, with names that end with it."""
        before = (len(self.floats), len(self.integers), len(self.indices), len(self.changing))
        self.indices += indices
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.depth -= 1
        for names, length in zip((self.floats, self.integers, self.indices, self.changing), before, strict=True):
            del names[length:]

    def statement(self) -> None:
        deep = self.depth > 4
        self.rng.choice([
            self.value, self.variable, self.store, self.store, self.change, self.change, self.swap,
            *([] if deep else [self.loop, self.loop, self.fill, self.branch, self.repetition, self.vectors]),
        ])()  # fmt: skip

    def value(self) -> None:
        if self.rng.random() < 0.5:
            name, text = self.name("x"), self.real()
            self.line(f"{name} = {text if self.rng.random() < 0.8 else f'total(a, {self.index()})'}")
            self.floats.append(name)
        else:
            name, text = self.name("k"), self.whole()
            self.line(f"{name} = {text if self.rng.random() < 0.8 else f'total(g, {self.index()})'}")
            self.integers.append(name)

    def variable(self) -> None:
        letter = self.rng.choice("fi")
        name = self.name("v")
        self.line(f"{name} = {self.real() if letter == 'f' else self.whole()}")
        (self.floats if letter == "f" else self.integers).append(name)
        self.changing.append((name, letter))

    def change(self) -> None:
        if not self.changing:
            self.variable()
            return
        name, letter = self.rng.choice(self.changing)
        symbol = self.rng.choice(["=", "+=", "-="])
        self.line(f"{name} {symbol} {self.real() if letter == 'f' else self.whole()}")

    def store(self) -> None:
        if self.rng.random() < 0.5:
            self.line(f"f[{self.index()}] {self.rng.choice(['=', '+='])} {self.real()}")
        else:
            self.line(f"g[{self.index()}] {self.rng.choice(['=', '-=', '^='])} {self.whole()}")

    def swap(self) -> None:
        i, k = self.index(), self.index()
        array = self.rng.choice("fg")
        self.line(f"{array}[{i}], {array}[{k}] = {array}[{k}], {array}[{i}]")

    def loop(self) -> None:
        name = self.name("i")
        if self.rng.random() < 0.4:
            self.line(f"for {name} in {self.rng.choice(['range', 'serial'])}({self.bounds()}):")
        else:
            kind = self.rng.choice(["range", "serial", "unroll", "const_range"])
            self.line(f"for {name} in {kind}({self.rng.choice(['8', '1, 5', '0, 8, 3', '7, -1, -2'])}):")
        self.block(self.rng.randrange(1, 4), (name,))

    def bounds(self) -> str:
        """A range of indices, of numbers that the body of its loop may change."""
        numbers = [f"np.int64({n} % 9)" for n in (f"g[{self.index()}]", *self.integers)]
        first, last = self.rng.choice(numbers), self.rng.choice([*numbers, "8"])
        return self.rng.choice([
            last, f"{first}, {last}", f"{first}, {last}, {self.rng.randrange(2, 4)}",
            f"{first} - 1, -1, {self.rng.randrange(-3, 0)}",
        ])  # fmt: skip

    def fill(self) -> None:
        """A loop that stores neighbours, those among them that say where it begins and ends."""
        name = self.name("i")
        self.line(f"for {name} in range({self.bounds()}):")
        self.line("    " + self.rng.choice([f"f[{name}] = a[{name}]", f"g[{name}] = b[{name}]", f"g[{name}] = 5"]))

    def vectors(self) -> None:
        """A loop whose iterations are independent: each has elements of its own."""
        name, x = self.name("i"), self.name("w")
        self.line(f"for {name} in {self.rng.choice(['parallel', 'vectorize'])}(8):")
        self.line(f"    {x} = a[{name}]")
        self.line(f"    if {x} > {self.rng.randrange(-2, 3)}:")
        self.line(f"        {x} += np.float32(b[{name}] % 32)")
        self.line(f"    f[{name}] = f[{name}] + {x}")

    def branch(self) -> None:
        self.line(f"if {self.condition()}:")
        self.block(self.rng.randrange(1, 3))
        if self.rng.random() < 0.3:
            self.line(f"elif {self.condition()}:")
            self.block(1)
        if self.rng.random() < 0.5:
            self.line("else:")
            self.block(self.rng.randrange(1, 3))

    def repetition(self) -> None:
        name = self.name("n")
        self.line(f"{name} = 0")
        self.line(f"while {name} < {self.rng.randrange(1, 6)} and {self.condition()}:")
        self.block(self.rng.randrange(1, 3), (f"{name} % 8",))
        self.line(f"    {name} += 1")


def draw_script(rng: Random) -> str:
    """The text of a file with a script `f(a, b)`, which gives an array of float32 and one of int32."""
    script = _Script(rng)
    for text in (
        'f = output_tensor((8,), "float32")',
        'g = output_tensor((8,), "int32")',
        "for start in range(8):",
        f"    f[start] = a[start] * {rng.choice(['0.5', '2.0'])}",
        f"    g[start] = b[(start + {rng.randrange(8)}) % 8]",
    ):
        script.line(text)
    script.depth -= 1
    script.block(rng.randrange(3, 9))
    script.depth += 1
    script.line("return f, g")
    return HEAD + "@hybrid.script\ndef script(a, b):\n" + "\n".join(script.lines) + "\n"


def draw_nest(rng: Random) -> str:
    """The text of a file with a script `script(a, b)` of two loops, whose iterations may use what others stored."""
    lines = ["value = a[(y * 3 + x) % 8]", "count = b[x] + np.int32(y)"]
    if rng.random() < 0.5:
        place = rng.choice(["x", "(x + 1) % 8", "7 - x", "x // 2", "3"])
        lines += [f"if y >= {rng.choice([1, 2])}:", f"    value = value * 0.5 + f[y - 1, {place}]"]
    if rng.random() < 0.3:
        lines += ["if x > 0:", "    value -= f[y, x - 1]"]
    if rng.random() < 0.3:
        lines += ["for k in range(4):", "    value += a[(x + k) % 8]"]
    if rng.random() < 0.3:
        lines += ["if count > 50:", "    count //= 2"]
    lines += [
        "f[y, x] = value",
        rng.choice(["g[y, x] = count", "g[y, 0] = count", "g[0, x] = count", "g[x % 4, y] = count"]),
    ]
    body = "\n".join(f"            {line}" for line in lines)
    return (
        f"{HEAD}@hybrid.script\ndef script(a, b):\n"
        '    f = output_tensor((4, 8), "float32")\n    g = output_tensor((4, 8), "int32")\n'
        f"    for y in range(4):\n        for x in range(8):\n{body}\n    return f, g\n"
    )
