"""LLVM IR of the default host table: a fork-join pool, the C library's allocator, and a log to standard error.

`pool_text` is compiled beside the kernels, into the same library, and keeps what docs/design/abi.md promises:

Each worker thread has a slot for one chunk of work, with a word for its state. The caller of `parallel_for` fills slots
and *posts* them open; their workers, who *await* that, take them: `running`; a worker that is through posts `idle`,
which the caller awaits in turn. A chunk that is still open when the caller is through with its own is taken by the
caller, so that nobody waits for a worker that sleeps or has lost its processor. The lowest bit of a state says that
whoever awaits its end is asleep: a post to one that is awake costs a single exchange. The release of a post meets the
acquire of an await, which orders everything else in the slot.

One lock, only ever tried, guards the slots. Whoever doesn't get it, being inside a parallel region already or beside
another one, runs serially; so nothing can wait for itself. The pool lies on pages of its own that the kernel wipes in a
forked child (MADV_WIPEONFORK): zeros are the state before the first launch.
"""

from dataclasses import dataclass
from string import Template

from sateen.runtime.errors import CodegenError
from sateen.runtime.processor import architecture_of
from sateen.tensor_ir.codegen.processor_quota import quota_text

_POOL_SIZE = 0x10000  # bytes, a multiple of every page size in use on these machines
_HEADER_SIZE, _SLOT_SIZE = 256, 128
_WORKERS = (_POOL_SIZE - _HEADER_SIZE) // _SLOT_SIZE


@dataclass(frozen=True, slots=True)
class _Machine:
    """What the pool needs to know of a processor: its largest page, futex call, and an instruction that pauses."""

    page: int
    futex: int
    pause: str
    declaration: str
    spins: int = 4000  # pauses of 10 to 40 ns each, so that an inference is over before anyone sleeps


_MACHINES = {
    "x86_64": _Machine(0x1000, 202, "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": _Machine(0x10000, 98, "call void @llvm.aarch64.isb(i32 15)", "declare void @llvm.aarch64.isb(i32)"),
}


def has_pool(triple: str) -> bool:
    """Whether there is a pool for a triple: for x86-64 and AArch64 Linux."""
    return architecture_of(triple) in _MACHINES and "linux" in triple and "android" not in triple


def pool_text(triple: str, cgroup: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> str:
    """LLVM IR text that defines `sateen_abi_version`, `sateen_default_host` and `sateen_pool_stop`, the rest internal.

    Loaders run `sateen_pool_stop` as a destructor; who maps the code in another way (a JIT) calls it before unmapping.
    `triple` is of x86-64 or AArch64 Linux, else CodegenError. `cgroup` is where the target mounts control groups, of
    which `membership` lists those of a process. The least quota of processor time that they and the groups around them
    set (version 2 or 1) bounds the number of threads as the affinity mask does.
    """
    if not has_pool(triple):
        raise CodegenError(f"the thread pool is for {' and '.join(_MACHINES)} on Linux, not for {triple!r}")
    machine = _MACHINES[architecture_of(triple)]
    fields = {
        "pool_size": _POOL_SIZE,
        "workers": _WORKERS,
        "most_threads": _WORKERS + 1,
        "page": machine.page,
        "futex": machine.futex,
        "pause": machine.pause,
        "pause_declaration": machine.declaration,
        "spins": machine.spins,
    }
    sections = (_DATA, _WORDS, _WORKER, _PARALLEL_FOR, _START, _ADAPT, _PROCESSORS, _STOP, _SERVICES, _DECLARATIONS)
    own = "".join(Template(section).substitute(fields) for section in sections)
    return own + quota_text(cgroup, membership, _WORKERS + 1)


_DATA = r"""
%sateen_slot = type {
  i32,        ; 0  state: 0 idle, 2 open, 4 running; 1 is added where idle worker or waiting caller sleeps
  i32,        ; 1  status, from whoever ran the chunk
  ptr, ptr,   ; 2  task, 3 closure
  i64, i64,   ; 4  begin, 5 end
  i64,        ; 6  the worker's thread
  i32,        ; 7  1 + the processor that the worker keeps off; 0: none
  [76 x i8]   ; slots of two cache lines each: processors fetch lines in pairs
}
%sateen_pool = type {
  i32,        ; 0  lock: 1 while held
  [124 x i8],
  i32,        ; 2  size: threads including the caller; 0 before the first launch
  i32,        ; 3  spins: pauses before sleep
  [120 x i8],
  [$workers x %sateen_slot]
}
%sateen_host = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr }

@sateen_pool = internal global %sateen_pool zeroinitializer, align $page
@sateen_host = internal constant %sateen_host { i32 1, i32 0, ptr @sateen_pool, ptr @sateen_parallel_for,
  ptr @sateen_alloc, ptr @sateen_free, ptr @sateen_log, ptr null }
@sateen_stop_entry = internal global ptr @sateen_pool_stop, section ".fini_array"
@llvm.used = appending global [1 x ptr] [ptr @sateen_stop_entry], section "llvm.metadata"

define i32 @sateen_abi_version() nounwind {
  ret i32 1
}

define ptr @sateen_default_host() nounwind {
  ret ptr @sateen_host
}
"""

_WORDS = r"""
; Changes a state, and wakes whoever sleeps awaiting that.
define internal void @sateen_post(ptr %word, i32 %state) nounwind {
  %old = atomicrmw xchg ptr %word, i32 %state acq_rel
  %sleeps = trunc i32 %old to i1
  br i1 %sleeps, label %wake, label %end
wake:
  call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 129, i64 1)  ; FUTEX_WAKE_PRIVATE
  br label %end
end:
  ret void
}

; Waits while a state is `old`, spinning at first, then asleep. Returns whether it came to that.
define internal i1 @sateen_await(ptr %word, i32 %old) nounwind {
entry:
  %spins.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 3
  %spins = load atomic i32, ptr %spins.at monotonic, align 4
  br label %look
look:
  %left = phi i32 [ %spins, %entry ], [ %fewer, %pause ]
  %seen = load atomic i32, ptr %word acquire, align 4
  %is.new = icmp ne i32 %seen, %old
  br i1 %is.new, label %end, label %wait
wait:
  %is.tired = icmp eq i32 %left, 0
  br i1 %is.tired, label %announce, label %pause
pause:
  $pause
  %fewer = sub i32 %left, 1
  br label %look
announce:
  %sleeping = or i32 %old, 1
  %exchange = cmpxchg ptr %word, i32 %old, i32 %sleeping acq_rel acquire
  %is.announced = extractvalue { i32, i1 } %exchange, 1
  %expected = zext i32 %sleeping to i64
  br i1 %is.announced, label %sleep, label %end
sleep:
  call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 128, i64 %expected, ptr null)  ; FUTEX_WAIT_PRIVATE
  %now = load atomic i32, ptr %word acquire, align 4
  %is.same = icmp eq i32 %now, %sleeping
  br i1 %is.same, label %sleep, label %end
end:
  %has.slept = phi i1 [ false, %look ], [ false, %announce ], [ true, %sleep ]
  ret i1 %has.slept
}
"""

_WORKER = r"""
; The life of one worker: await that the slot is open, take it, run it; a chunk without a task ends it.
define internal ptr @sateen_worker(ptr %slot) nounwind {
entry:
  br label %next
next:
  call i1 @sateen_await(ptr %slot, i32 0)
  %exchange = cmpxchg ptr %slot, i32 2, i32 4 acquire monotonic
  %is.taken = extractvalue { i32, i1 } %exchange, 1
  br i1 %is.taken, label %look, label %next
look:
  %task.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 2
  %task = load ptr, ptr %task.at
  %is.last = icmp eq ptr %task, null
  br i1 %is.last, label %end, label %run
run:
  call void @sateen_run(ptr %slot)
  call void @sateen_post(ptr %slot, i32 0)
  br label %next
end:
  ret ptr null
}

; Runs the chunk in a slot that is the caller's or worker's own.
define internal void @sateen_run(ptr %slot) nounwind {
  %status.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 1
  %task.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 2
  %closure.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 3
  %begin.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 4
  %end.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 5
  %task = load ptr, ptr %task.at
  %closure = load ptr, ptr %closure.at
  %begin = load i64, ptr %begin.at
  %end = load i64, ptr %end.at
  %status = call i32 %task(ptr %closure, i64 %begin, i64 %end)
  store i32 %status, ptr %status.at
  ret void
}
"""

_PARALLEL_FOR = r"""
; `parallel_for` of the table: the caller runs chunk 0, and chunks 1, 2, ... that no worker has taken by then.
define internal i32 @sateen_parallel_for(ptr %host, ptr %task, ptr %closure, i64 %extent) nounwind {
entry:
  %cap.at = getelementptr %sateen_host, ptr %host, i32 0, i32 1
  %cap = load i32, ptr %cap.at
  %is.alone = icmp eq i32 %cap, 1
  %is.short = icmp slt i64 %extent, 2
  %is.serial = or i1 %is.alone, %is.short
  br i1 %is.serial, label %serial, label %look
look:
  %size.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 2
  %seen = load atomic i32, ptr %size.at monotonic, align 4
  %is.new = icmp eq i32 %seen, 0
  br i1 %is.new, label %wipe, label %try
wipe:  ; before the lock is held, so that no child ever finds it held
  call i32 @madvise(ptr @sateen_pool, i64 $pool_size, i32 18)  ; MADV_WIPEONFORK
  br label %try
try:
  %exchange = cmpxchg ptr @sateen_pool, i32 0, i32 1 acquire monotonic
  %is.ours = extractvalue { i32, i1 } %exchange, 1
  br i1 %is.ours, label %locked, label %serial
locked:
  %known = load atomic i32, ptr %size.at monotonic, align 4
  %is.started = icmp ne i32 %known, 0
  br i1 %is.started, label %divide, label %start
start:
  %started = call i32 @sateen_pool_start()
  br label %divide
divide:
  %size = phi i32 [ %known, %locked ], [ %started, %start ]
  %is.capped = icmp sgt i32 %cap, 0
  %capped = call i32 @llvm.umin.i32(i32 %size, i32 %cap)
  %threads = select i1 %is.capped, i32 %capped, i32 %size
  %threads.wide = zext i32 %threads to i64
  %chunks = call i64 @llvm.umin.i64(i64 %threads.wide, i64 %extent)
  %length = udiv i64 %extent, %chunks
  %rest = urem i64 %extent, %chunks  ; so many chunks are longer by one
  %is.uneven = icmp ne i64 %rest, 0
  %first.more = zext i1 %is.uneven to i64
  %first.end = add i64 %length, %first.more
  br label %launch.next

launch.next:
  %launched = phi i64 [ 1, %divide ], [ %launched.next, %launch.post ]
  %begin = phi i64 [ %first.end, %divide ], [ %end, %launch.post ]
  %is.launched = icmp eq i64 %launched, %chunks
  br i1 %is.launched, label %own, label %launch
launch:
  %slot = call ptr @sateen_slot_of(i64 %launched)
  %task.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 2
  %closure.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 3
  %begin.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 4
  %end.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 5
  %is.longer = icmp ult i64 %launched, %rest
  %more = zext i1 %is.longer to i64
  %its.length = add i64 %length, %more
  %end = add i64 %begin, %its.length
  store ptr %task, ptr %task.at
  store ptr %closure, ptr %closure.at
  store i64 %begin, ptr %begin.at
  store i64 %end, ptr %end.at
  %state = load atomic i32, ptr %slot monotonic, align 4
  %is.asleep = icmp eq i32 %state, 1
  br i1 %is.asleep, label %launch.asleep, label %launch.post
launch.asleep:
  call void @sateen_adapt(ptr %slot)
  br label %launch.post
launch.post:
  call void @sateen_post(ptr %slot, i32 2)
  %launched.next = add i64 %launched, 1
  br label %launch.next

own:
  %own.status = call i32 %task(ptr %closure, i64 0, i64 %first.end)
  br label %take.next
take.next:
  %taken = phi i64 [ 1, %own ], [ %taken.next, %take ], [ %taken.next, %take.run ]
  %is.taken = icmp eq i64 %taken, %chunks
  br i1 %is.taken, label %join.next, label %take
take:
  %open.slot = call ptr @sateen_slot_of(i64 %taken)
  %taken.next = add i64 %taken, 1
  %take.exchange = cmpxchg ptr %open.slot, i32 2, i32 0 acquire monotonic
  %is.open = extractvalue { i32, i1 } %take.exchange, 1
  br i1 %is.open, label %take.run, label %take.next
take.run:
  call void @sateen_run(ptr %open.slot)
  br label %take.next

join.next:
  %joined = phi i64 [ 1, %take.next ], [ %joined.next, %join.merge ]
  %status = phi i32 [ %own.status, %take.next ], [ %lowest, %join.merge ]
  %is.joined = icmp eq i64 %joined, %chunks
  br i1 %is.joined, label %unlock, label %join
join:
  %running.slot = call ptr @sateen_slot_of(i64 %joined)
  %has.slept = call i1 @sateen_await(ptr %running.slot, i32 4)
  br i1 %has.slept, label %join.woken, label %join.merge
join.woken:
  call void @sateen_adapt(ptr %running.slot)
  br label %join.merge
join.merge:
  %status.at = getelementptr %sateen_slot, ptr %running.slot, i32 0, i32 1
  %its.status = load i32, ptr %status.at
  %is.fine = icmp eq i32 %status, 0
  %lowest = select i1 %is.fine, i32 %its.status, i32 %status
  %joined.next = add i64 %joined, 1
  br label %join.next
unlock:
  store atomic i32 0, ptr @sateen_pool release, align 4
  ret i32 %status

serial:
  %is.empty = icmp slt i64 %extent, 1
  br i1 %is.empty, label %empty, label %run
run:
  %serial.status = call i32 %task(ptr %closure, i64 0, i64 %extent)
  ret i32 %serial.status
empty:
  ret i32 0
}

; The slot for a chunk, counted from 1: chunk 0 has none.
define internal ptr @sateen_slot_of(i64 %chunk) alwaysinline nounwind {
  %index = sub i64 %chunk, 1
  %slot = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 5, i64 %index
  ret ptr %slot
}
"""

_START = r"""
; Starts one worker for each processor but the caller's, and returns the number of threads; the lock is held.
; Workers block all signals, which so stay with the threads of the host. Where the kernel can't wipe the pool in a
; forked child, which would wait for workers that it doesn't have, there are none.
define internal i32 @sateen_pool_start() nounwind {
entry:
  %all.signals = alloca [128 x i8], align 8
  %old.signals = alloca [128 x i8], align 8
  %mask = alloca [64 x i64], align 8
  %spins.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 3
  store atomic i32 $spins, ptr %spins.at monotonic, align 4
  %allowed = call i32 @sateen_allowed_processors(ptr %mask)
  %quota = call i32 @sateen_processor_quota()
  %usable = call i32 @llvm.umin.i32(i32 %allowed, i32 %quota)
  %most = call i32 @llvm.umin.i32(i32 %usable, i32 $most_threads)
  %refused = call i32 @madvise(ptr @sateen_pool, i64 $pool_size, i32 18)  ; MADV_WIPEONFORK
  %is.wiped = icmp eq i32 %refused, 0
  %wanted = select i1 %is.wiped, i32 %most, i32 1
  call void @llvm.memset.p0.i64(ptr %all.signals, i8 -1, i64 128, i1 false)
  call i32 @pthread_sigmask(i32 2, ptr %all.signals, ptr %old.signals)  ; SIG_SETMASK
  br label %next
next:
  %threads = phi i32 [ 1, %entry ], [ %more, %create ]
  %is.enough = icmp uge i32 %threads, %wanted
  br i1 %is.enough, label %end, label %create
create:
  %number = zext i32 %threads to i64
  %slot = call ptr @sateen_slot_of(i64 %number)
  %thread.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 6
  %failed = call i32 @pthread_create(ptr %thread.at, ptr null, ptr @sateen_worker, ptr %slot)
  %is.created = icmp eq i32 %failed, 0
  %more = add i32 %threads, 1
  br i1 %is.created, label %next, label %end
end:
  call i32 @pthread_sigmask(i32 2, ptr %old.signals, ptr null)
  %size.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 2
  store atomic i32 %threads, ptr %size.at monotonic, align 4
  ret i32 %threads
}
"""

_ADAPT = r"""
; What the caller looks after when it wakes a worker, or was woken by one. First, whether spinning still pays: not where
; the processors have become fewer than the threads. Second, that the worker keeps off the caller's processor: a kernel
; wakes a thread beside its waker when the other processors look busy, as halted ones of a virtual machine do, and there
; it would wait for milliseconds.
define internal void @sateen_adapt(ptr %slot) nounwind {
  %mask = alloca [64 x i64], align 8
  %size.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 2
  %spins.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 3
  %thread.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 6
  %avoided.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 7
  %allowed = call i32 @sateen_allowed_processors(ptr %mask)
  %size = load atomic i32, ptr %size.at monotonic, align 4
  %is.crowded = icmp ult i32 %allowed, %size
  %spins = select i1 %is.crowded, i32 0, i32 $spins
  store atomic i32 %spins, ptr %spins.at monotonic, align 4
  %processor = call i32 @sched_getcpu()
  %name = add i32 %processor, 1
  %avoided = load i32, ptr %avoided.at
  %is.same = icmp eq i32 %avoided, %name
  br i1 %is.same, label %end, label %move
move:
  %index = and i32 %processor, 4095  ; inside the mask
  %byte.number = lshr i32 %index, 3
  %byte.at = getelementptr i8, ptr %mask, i32 %byte.number
  %byte = load i8, ptr %byte.at
  %bit.number = and i32 %index, 7
  %bit = shl i32 1, %bit.number
  %all.others = xor i32 %bit, -1
  %others = trunc i32 %all.others to i8
  %rest = and i8 %byte, %others
  store i8 %rest, ptr %byte.at
  %thread = load i64, ptr %thread.at
  call i32 @pthread_setaffinity_np(i64 %thread, i64 512, ptr %mask)  ; refuses an empty mask
  store i32 %name, ptr %avoided.at
  br label %end
end:
  ret void
}
"""

_PROCESSORS = r"""
; The number of processors that this thread may run on, its affinity mask in 512 bytes; 1 where that can't be had.
define internal i32 @sateen_allowed_processors(ptr %mask) nounwind {
entry:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 512, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, i64 512, ptr %mask)
  %is.known = icmp eq i32 %failed, 0
  br i1 %is.known, label %add, label %end
add:
  %index = phi i64 [ 0, %entry ], [ %following, %add ]
  %sum = phi i64 [ 0, %entry ], [ %total, %add ]
  %word.at = getelementptr i64, ptr %mask, i64 %index
  %word = load i64, ptr %word.at
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %total = add i64 %sum, %bits
  %following = add i64 %index, 1
  %is.last = icmp eq i64 %following, 64
  br i1 %is.last, label %end, label %add
end:
  %count = phi i64 [ 1, %entry ], [ %total, %add ]
  %processors = trunc i64 %count to i32
  ret i32 %processors
}
"""

_STOP = r"""
; Ends and joins the workers, so that unloading is safe: the library's destructor, and for a JIT, which runs none, to be
; called. It keeps the lock: other threads of a process that exits may still call, and then run serially. One that is
; inside a parallel region at that time keeps its workers.
define void @sateen_pool_stop() nounwind {
entry:
  %exchange = cmpxchg ptr @sateen_pool, i32 0, i32 1 acquire monotonic
  %is.ours = extractvalue { i32, i1 } %exchange, 1
  %size.at = getelementptr %sateen_pool, ptr @sateen_pool, i32 0, i32 2
  %size = load atomic i32, ptr %size.at monotonic, align 4
  br i1 %is.ours, label %next, label %end
next:
  %number = phi i64 [ 1, %entry ], [ %following, %join ]
  %threads = zext i32 %size to i64
  %is.more = icmp ult i64 %number, %threads
  br i1 %is.more, label %join, label %end
join:
  %slot = call ptr @sateen_slot_of(i64 %number)
  %task.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 2
  %thread.at = getelementptr %sateen_slot, ptr %slot, i32 0, i32 6
  store ptr null, ptr %task.at
  call void @sateen_post(ptr %slot, i32 2)
  %thread = load i64, ptr %thread.at
  call i32 @pthread_join(i64 %thread, ptr null)
  %following = add i64 %number, 1
  br label %next
end:
  ret void
}
"""

_SERVICES = r"""
; `alloc`: memory at a multiple of `alignment`, a power of two, or null.
define internal ptr @sateen_alloc(ptr %host, i64 %bytes, i64 %alignment) nounwind {
  %memory.at = alloca ptr
  %least = call i64 @llvm.umax.i64(i64 %alignment, i64 8)  ; posix_memalign wants a pointer's size at least
  %failed = call i32 @posix_memalign(ptr %memory.at, i64 %least, i64 %bytes)
  %memory = load ptr, ptr %memory.at
  %is.fine = icmp eq i32 %failed, 0
  %result = select i1 %is.fine, ptr %memory, ptr null
  ret ptr %result
}

define internal void @sateen_free(ptr %host, ptr %memory) nounwind {
  call void @free(ptr %memory)
  ret void
}

@sateen_log_prefix = internal constant [8 x i8] c"sateen: "
@sateen_log_newline = internal constant [1 x i8] c"\0a"

; `log`: one line to standard error, in one piece.
define internal void @sateen_log(ptr %host, i32 %level, ptr %message) nounwind {
  %pieces = alloca [3 x { ptr, i64 }], align 8
  %length = call i64 @strlen(ptr %message)
  %second = getelementptr { ptr, i64 }, ptr %pieces, i32 1
  %third = getelementptr { ptr, i64 }, ptr %pieces, i32 2
  %line = insertvalue { ptr, i64 } poison, ptr %message, 0
  %text = insertvalue { ptr, i64 } %line, i64 %length, 1
  store { ptr, i64 } { ptr @sateen_log_prefix, i64 8 }, ptr %pieces
  store { ptr, i64 } %text, ptr %second
  store { ptr, i64 } { ptr @sateen_log_newline, i64 1 }, ptr %third
  call i64 @writev(i32 2, ptr %pieces, i32 3)
  ret void
}
"""

_DECLARATIONS = r"""
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_getcpu()
declare i32 @pthread_setaffinity_np(i64, i64, ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @madvise(ptr, i64, i32)
declare i64 @strlen(ptr)
declare i64 @writev(i32, ptr, i32)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
$pause_declaration
"""
