import pytest

from sateen.runtime import ArgumentError, TimeResult, timing


class Clock:
    """A clock that a function under test advances."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = 0

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.calls += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", lambda: clock.now)
    return clock


def test_samples_are_seconds_per_call(clock: Clock) -> None:
    result = timing.time_evaluator(clock.work, 0.5, number=4, repeat=3)
    assert (result.samples, result.number) == ((0.5, 0.5, 0.5), 4)
    assert clock.calls == 1 + 4 + 3 * 4


def test_short_functions_are_called_more_often(clock: Clock) -> None:
    result = timing.time_evaluator(clock.work, 0.001, repeat=2, min_seconds=1.0)
    assert result.number >= 1000
    assert result.samples == pytest.approx((0.001, 0.001))


def test_a_function_too_short_for_the_clock_is_called_until_it_shows(clock: Clock) -> None:
    def work() -> None:
        clock.calls += 1
        clock.now = clock.calls // 50 * 1.0

    assert timing.time_evaluator(work, repeat=1, min_seconds=1.0).number >= 50


def test_median_minimum_and_spread() -> None:
    result = TimeResult((3.0, 1.0, 2.0, 4.0, 5.0), 1)
    assert (result.median, result.minimum, result.spread) == pytest.approx((3.0, 1.0, 2 / 3))
    assert TimeResult((2.0,), 1).spread == 0.0


def test_the_text_is_for_people() -> None:
    assert str(TimeResult((2e-6, 2e-6), 1)) == "2.000 us (median of 2, minimum 2.000, spread 0.0%)"


@pytest.mark.parametrize(
    "options", [{"number": 0}, {"repeat": 0}, {"min_seconds": -1.0}, {"min_seconds": float("nan")}]
)
def test_counts_and_times_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match="expected number and repeat of 1 or more and a finite min_seconds"):
        timing.time_evaluator(print, **options)  # type: ignore[arg-type]
