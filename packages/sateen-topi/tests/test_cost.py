"""Estimates take all that they know of a machine from its rates."""

from dataclasses import fields, replace

import pytest

from sateen.runtime.dtype import DType
from sateen.tensor_ir import Machine
from sateen.topi import cost
from sateen.topi.computations.convolution import ConvolutionShapes
from sateen.topi.computations.convolution.methods import cpu_candidates as candidates
from sateen.topi.computations.convolution.winograd_methods import Winograd
from sateen.topi.computations.products import Packed, matmul_candidates
from sateen.topi.computations.recurrent import recurrent_candidates
from sateen.topi.computations.windows import Window

MACHINES = [
    Machine.of(f"llvm -mtriple={text}")
    for text in (
        "x86_64-linux-gnu -mcpu=x86-64-v4", "x86_64-linux-gnu -mcpu=x86-64-v3", "x86_64-linux-gnu -mcpu=x86-64-v2",
        "aarch64-linux-gnu",
    )
]  # fmt: skip
RISCV = "llvm -mtriple=riscv64-linux-gnu -mattr=+v,+zvl256b"
PROPORTIONS = {
    "load_bytes",
    "exposed",
    "panel_exposed",
    "latency_exposed",
    "narrow",
    "wide_row",
    "streamed",
    "reread",
    "own_part",
    "common_part",
    "overflow",
    "loads_alone",
    "streams",
    "asks_ahead",
    "crowded",
    "least_uses",
    "unasked",
    "in_turn",
}


def half_as_fast(machine):
    """The machine with half of each rate and twice as many cycles for each thing that takes some."""
    rates = {f.name: getattr(machine.rates, f.name) for f in fields(machine.rates) if f.name not in PROPORTIONS}
    slower = {name: 2 * rate if name.endswith(("cycles", "latency")) else rate / 2 for name, rate in rates.items()}
    return replace(machine, rates=replace(machine.rates, **slower))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_tile_takes_twice_the_cycles_on_a_machine_half_as_fast(machine):
    args = (6, 2, 500)
    assert cost.tile_cycles(*args, half_as_fast(machine), 0.5) == 2 * cost.tile_cycles(*args, machine, 0.5)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("size", [64, 1024])
def test_a_recurrent_layer_takes_twice_the_cycles_on_a_machine_half_as_fast(machine, size):
    args = ((9, 3, size), (1, 4 * size, size), DType.of("float32"))
    expected = {str(c.method): 2 * c.cycles for c in recurrent_candidates(*args, machine)}
    found = {str(c.method): c.cycles for c in recurrent_candidates(*args, half_as_fast(machine))}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_takes_twice_the_cycles_on_a_machine_half_as_fast(machine, stride):
    problem = ConvolutionShapes(
        (1, 64, 28, 28), (128, 64, 3, 3), Window((3, 3), (stride, stride), (1, 1, 1, 1), (1, 1))
    )
    expected = {str(c.method): 2 * c.cycles for c in candidates(problem, machine)}
    found = {str(c.method): c.cycles for c in candidates(problem, half_as_fast(machine))}
    assert found == pytest.approx(expected)
    assert list(found) == list(expected)


@pytest.mark.parametrize("machine", MACHINES)
def test_windows_of_channels_take_twice_the_cycles_on_a_machine_half_as_fast(machine):
    assert cost.windows_cycles(14, 5, 9, half_as_fast(machine)) == 2 * cost.windows_cycles(14, 5, 9, machine)
    assert cost.window_cycles(machine.vector_registers // 2, 9, machine) == float("inf")


@pytest.mark.parametrize("machine", MACHINES)
def test_products_are_chosen_by_ratios_of_rates_alone(machine):
    for rows in (16, 64, 256, 1024):
        shapes = (1, rows, 1024), (1024, 1536), DType.of("float32")
        found, slower = (
            {str(c.method): c.cycles for c in matmul_candidates(*shapes, m)} for m in (machine, half_as_fast(machine))
        )
        assert slower == pytest.approx({method: 2 * cycles for method, cycles in found.items()})


@pytest.mark.parametrize("machine", MACHINES)
def test_data_that_exceed_a_cache_come_more_slowly(machine):
    sizes = (machine.l1_bytes // 4, machine.l1_bytes, machine.l2_bytes, machine.l3_bytes, 8 * machine.l3_bytes)
    found = [cost.bytes_per_cycle(size, machine) for size in sizes]
    assert found == sorted(found, reverse=True)
    assert found[0] == machine.rates.l1
    assert found[-1] == pytest.approx(machine.rates.memory)


def test_a_tile_that_leaves_no_register_is_refused():
    v4, v3, _, arm = MACHINES
    assert cost.tile_cycles(14, 2, 64, v3) == float("inf")
    assert cost.tile_cycles(14, 2, 64, v4) == float("inf")  # LLVM broadcasts ahead, and spills
    assert cost.tile_cycles(13, 2, 64, v4) < float("inf")
    assert (v4.vector_registers, arm.vector_registers) == (32, 32)
    assert cost.tile_cycles(14, 2, 64, arm) == float("inf")  # each of 14 positions takes a register for its terms


@pytest.mark.parametrize("machine", [*MACHINES, Machine.of(RISCV), Machine.of("wasm32")])
@pytest.mark.parametrize("vectors", [1, 2, 3, 4, 6, 8])
def test_the_largest_tile_takes_the_registers_that_there_are(machine, vectors):
    def taken(positions):
        if machine.multiplies_by_element:
            broadcast: float = positions
        else:
            broadcast = 1 if vectors == 1 or machine.broadcasts_ahead == 0 else positions / machine.broadcasts_ahead
        return positions * vectors + vectors + broadcast

    most = machine.tile_positions(vectors)
    assert taken(most) <= machine.vector_registers < taken(most + 1)


def test_a_tile_takes_no_registers_for_broadcasts_where_instructions_multiply_by_scalars():
    riscv = Machine.of(RISCV)
    assert (riscv.broadcasts_ahead, riscv.tile_positions(2)) == (0, 11)
    assert replace(riscv, broadcasts_ahead=4).tile_positions(2) == 10


def test_addresses_of_vectors_count_where_loads_take_no_offset():
    riscv = Machine.of(RISCV)
    wide, tall = (cost.tile_cycles(positions, 16 // positions, 64, riscv) for positions in (2, 4))
    assert wide > tall
    *_, arm = MACHINES
    assert cost.tile_cycles(2, 8, 64, arm) == cost.tile_cycles(4, 4, 64, arm)


def test_loads_count_beside_arithmetic_where_they_begin_alone():
    *_, together = MACHINES
    alone = replace(together, rates=replace(together.rates, loads_alone=True))
    assert cost.tile_cycles(2, 8, 64, together) == cost.tile_cycles(4, 4, 64, together)
    assert cost.tile_cycles(2, 8, 64, alone) > cost.tile_cycles(4, 4, 64, alone) > cost.tile_cycles(4, 4, 64, together)


@pytest.mark.parametrize(
    ("processor", "channels", "pixels", "tile"),
    [
        ("sapphirerapids", 256, 14, 2),
        ("sapphirerapids", 512, 7, 2),
        ("znver4", 256, 14, 4),
        ("znver4", 512, 7, 2),
        ("znver4", 64, 56, 6),
    ],
)
def test_the_tile_of_winograd_is_chosen_by_operations_and_by_bytes_of_weights(processor, channels, pixels, tile):
    machine = Machine.of(f"llvm -mtriple=x86_64-linux-gnu -mcpu={processor}")
    window = Window((3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
    problem = ConvolutionShapes((1, channels, pixels, pixels), (channels, channels, 3, 3), window)
    best = next(c for c in candidates(problem, machine) if c.method.numerics != "fast")
    assert best.method.tile == tile


def test_a_step_that_waits_for_its_accumulators_takes_longer_than_their_latency():
    machine, *_ = MACHINES
    at_once, late = (replace(machine, rates=replace(machine.rates, latency_exposed=part)) for part in (0.0, 0.5))
    waiting, busy = (1, 1, 100), (8, 3, 100)
    longer = cost.tile_cycles(*waiting, late, alone=True) - cost.tile_cycles(*waiting, at_once, alone=True)
    assert longer == pytest.approx(100 * 0.5 * machine.rates.multiply_add_latency)
    assert cost.tile_cycles(*busy, late, alone=True) == cost.tile_cycles(*busy, at_once, alone=True)


@pytest.mark.parametrize(("machine", "vectors", "times"), [(0, 1, 1), (0, 2, 0), (1, 1, 3), (1, 2, 1), (1, 8, 0)])
def test_steps_that_read_less_than_two_lines_wait_for_memory(machine, vectors, times):
    """AVX-512 reads 64 bytes a vector, AVX2 32."""
    narrow = replace(MACHINES[machine], cores=1)
    wide = replace(narrow, rates=replace(narrow.rates, narrow=0.0))
    weights, rates = 1 << 20, narrow.rates

    def cold(machine):
        in_passes = cost.cycles_in_passes(1.0, weights, vectors, 1, 1, machine, asked=False)
        return cost.mean_cycles(1.0, weights, vectors, 1, machine), in_passes

    for slower, faster in zip(cold(narrow), cold(wide), strict=True):
        assert slower - faster == pytest.approx(times * rates.narrow * weights / rates.memory)


def test_weights_that_are_asked_for_arrive_beside_arithmetic_but_not_beside_what_is_apart():
    machine = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"), cores=1)
    rates = machine.rates
    work, weights = 1000.0, int(500 * rates.memory_in_streams / (1 + rates.streamed))
    assert cost.convolution_cycles(work, weights, 1, 1, machine, asked=True) == work
    apart = cost.convolution_cycles(work, weights, 1, 1, machine, apart=900.0, asked=True)
    assert apart == pytest.approx(1400.0, rel=1e-2)
    assert cost.convolution_cycles(work, weights, 1, 1, machine, asked=False) > work


def test_cores_share_what_memory_gives_them_together():
    one = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"), cores=1)
    two = replace(one, cores=2, rates=replace(one.rates, memory_together=one.rates.memory_in_streams))
    alone, both = (cost.convolution_cycles(1.0, 1 << 30, 1, 2, machine, asked=True) for machine in (one, two))
    assert both == pytest.approx((alone + 2 * alone) / 2)


ZEN_5 = replace(Machine.of("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"), cores=1)


def test_multiply_adds_wait_for_weights_that_are_not_asked_for():
    work, rates = 1000.0, ZEN_5.rates
    weights, hidden = int(500 * rates.memory), replace(ZEN_5, rates=replace(rates, unasked=0.0))

    def cycles(machine, asked):
        convolution = cost.convolution_cycles(work, weights, 4, 1, machine, asked=asked)
        return convolution, cost.cycles_in_passes(work, weights, 4, 1, 1, machine, asked=asked)

    for waits, hides in zip(cycles(ZEN_5, False), cycles(hidden, False), strict=True):
        assert waits - hides == pytest.approx(500, rel=0.1)
    assert cycles(ZEN_5, True) == cycles(hidden, True)


def test_memory_that_is_asked_waits_while_panels_come_from_caches():
    work, weights = 1000.0, int(500 * ZEN_5.rates.memory)
    found = [cost.cycles_in_passes(work, weights, 4, 3, 1, ZEN_5, asked=True, panels=p) for p in (0.0, 400.0, 700.0)]
    assert found == pytest.approx([1000, 1000, 1200], rel=1e-2)


def test_tall_tiles_are_chosen_where_memory_waits_for_panels():
    shapes = (1, 16, 1024), (1024, 1024), DType.of("float32")
    at_once = replace(ZEN_5, rates=replace(ZEN_5.rates, in_turn=0.0))
    found = (matmul_candidates(*shapes, machine) for machine in (ZEN_5, at_once))
    waits, beside = (next(c.method for c in methods if isinstance(c.method, Packed)) for methods in found)
    assert waits.rows == 8 > beside.rows


def test_each_block_of_winograd_tiles_reads_the_weights_again():
    """Where the third cache gives next to nothing, the weights of all blocks are what takes time."""
    machine = replace(ZEN_5, rates=replace(ZEN_5.rates, l3=0.01, memory=0.01, memory_in_streams=0.01))
    window = Window((3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
    problem = ConvolutionShapes((1, 256, 28, 28), (256, 256, 3, 3), window)
    weights = 4 * 16 * 256 * 256
    once = weights / cost.bytes_per_cycle(weights, machine) * (1 + machine.rates.streamed)
    cycles = {c.method: c.cycles for c in candidates(problem, machine)}
    for rows in (1, 2):
        assert cycles[Winograd(2, rows, 14, 2)] / once == pytest.approx(14 / rows, abs=0.2)
