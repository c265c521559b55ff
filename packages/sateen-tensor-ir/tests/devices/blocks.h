/* Blocks of threads on one processor: a thread is a fiber, which runs until the next barrier of its block.

   A language's header says what is `position` there and calls `barrier` and `shuffle`; a kernel is run by `run_kernel`.
   The threads of a block run forwards and backwards in turns, so that a value that is read before all have stored is
   likely to be another one. All threads of a block come to a shuffle together, as generated kernels promise. */
#pragma once
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cmath>
#include <cstring>
#include <utility>

namespace blocks {

struct Position { unsigned x, y, z; };

static Position block, thread;
static const size_t stack_bytes = 64 << 10;

struct Fiber {
  ucontext_t begin;
  jmp_buf place;
  void *stack;
  bool started, ended;
  bool shuffles; /* Whether it waits for its warp, and not for its block. */
  uint32_t given; /* Its value for other threads of the warp. */
  Position thread;
};

static const size_t warp_threads = 32;

static jmp_buf scheduler;
static Fiber *running, *fibers;
static size_t threads;
static bool is_refused; /* Whether a thread took a value of no thread of its warp. */
static void (*work)(const void *);
static const void *given;

static void wait(bool shuffles) {
  running->shuffles = shuffles;
  if (_setjmp(running->place) == 0) _longjmp(scheduler, 1);
}

static void barrier() { wait(false); }

/* The value of a lane of the warp. */
template <class T> T shuffle(T value, unsigned lane) {
  static_assert(sizeof(T) == 4, "registers have four bytes");
  std::memcpy(&running->given, &value, 4);
  wait(true);
  size_t place = size_t(running - fibers) / warp_threads * warp_threads + lane;
  if (lane >= warp_threads || place >= threads) {
    is_refused = true;
  } else {
    std::memcpy(&value, &fibers[place].given, 4);
  }
  wait(true);
  return value;
}

static void begin() {
  work(given);
  running->ended = true;
  _longjmp(scheduler, 1);
}

static void enter() {
  if (running->started) _longjmp(running->place, 1);
  running->started = true;
  setcontext(&running->begin);
}

/* Comes back when the thread waits or ends. Of its own it has nothing in registers, which the thread changes. */
__attribute__((noinline)) static void resume() {
  thread = running->thread;
  if (_setjmp(scheduler) == 0) enter();
}

__attribute__((noinline)) static void prepare(Fiber &fiber, Position thread) {
  fiber.started = fiber.ended = false;
  fiber.thread = thread;
  getcontext(&fiber.begin);
  fiber.begin.uc_stack.ss_sp = fiber.stack;
  fiber.begin.uc_stack.ss_size = stack_bytes;
  makecontext(&fiber.begin, begin, 0);
}

/* Whether all threads of a block came to an end, having met at each barrier and each shuffle. */
static bool run_block(size_t count) {
  for (size_t round = 0;; ++round) {
    size_t ended = 0, shuffling = 0;
    for (size_t i = 0; i < count; ++i) {
      Fiber &fiber = fibers[round % 2 ? count - 1 - i : i];
      if (fiber.ended) return false;
      running = &fiber;
      resume();
      ended += fiber.ended;
      shuffling += !fiber.ended && fiber.shuffles;
    }
    if (is_refused || (shuffling != 0 && shuffling != count)) return false;
    if (ended == count) return true;
    if (ended != 0) return false;
  }
}

static bool run_with_barriers(const int64_t *grid, const int64_t *size) {
  static size_t most;
  size_t count = threads = size[0] * size[1] * size[2];
  is_refused = false;
  if (count > most) {
    fibers = (Fiber *)realloc(fibers, count * sizeof(Fiber));
    for (; most < count; ++most) fibers[most].stack = malloc(stack_bytes);
  }
  for (block.z = 0; block.z < grid[2]; ++block.z)
    for (block.y = 0; block.y < grid[1]; ++block.y)
      for (block.x = 0; block.x < grid[0]; ++block.x) {
        for (size_t i = 0; i < count; ++i)
          prepare(fibers[i], {unsigned(i % size[0]), unsigned(i / size[0] % size[1]), unsigned(i / size[0] / size[1])});
        if (!run_block(count)) return false;
      }
  return true;
}

static void run_alone(const int64_t *grid, const int64_t *size) {
  for (block.z = 0; block.z < grid[2]; ++block.z)
    for (block.y = 0; block.y < grid[1]; ++block.y)
      for (block.x = 0; block.x < grid[0]; ++block.x)
        for (thread.z = 0; thread.z < size[2]; ++thread.z)
          for (thread.y = 0; thread.y < size[1]; ++thread.y)
            for (thread.x = 0; thread.x < size[0]; ++thread.x) work(given);
}

/* The arguments of a kernel: places of memory, then numbers, then what is no argument of a launch. */
struct Arguments { void *const *places; const int64_t *numbers; };

template <class T> struct Argument {
  static T of(Arguments &a) { return T(*a.numbers++); }
};
template <class T> struct Argument<T *> {
  static T *of(Arguments &a) { return static_cast<T *>(*a.places++); }
};
template <class T> struct Argument<const T &> {
  static const T &of(Arguments &a) { return *reinterpret_cast<const T *>(a.numbers++); }
};

template <class... T> struct Values {};
template <class F, class... Got> void call(F f, Arguments &, Values<>, Got... got) { f(got()...); }
template <class F, class T, class... Rest, class... Got>
void call(F f, Arguments &a, Values<T, Rest...>, Got... got) {
  T value = Argument<T>::of(a);
  call(f, a, Values<Rest...>(), got..., [&]() -> T { return value; });
}

template <class... T> struct Launch {
  void (*kernel)(T...);
  Arguments arguments;
  static void run(const void *launch) {
    const Launch &self = *static_cast<const Launch *>(launch);
    Arguments own = self.arguments;
    call(self.kernel, own, Values<T...>());
  }
};

template <class... T>
int run_kernel(
    void (*kernel)(T...), bool waits, const int64_t *grid, const int64_t *size, void *const *places,
    const int64_t *numbers) {
  Launch<T...> launch = {kernel, {places, numbers}};
  work = Launch<T...>::run;
  given = &launch;
  if (waits) return !run_with_barriers(grid, size);
  run_alone(grid, size);
  return 0;
}

template <class To, class From> To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}

}  // namespace blocks

/* The vectors of a type by a language's name of it, which may be pointed to where its elements lie. */
#define VECTORS(type, name) \
  struct __attribute__((may_alias, aligned(2 * sizeof(type)))) name##2 { type elements[2]; }; \
  struct __attribute__((may_alias, aligned(4 * sizeof(type)))) name##4 { type elements[4]; };
