"""The thread pool that runs `T.parallel` loops, as LLVM IR text.

One job at a time: a function over [0, extent) and its closure. The launching thread works too.

* Workers spin a little on the generation counter, then park in a futex; a launch bumps the counter
  and wakes them if any is parked.
* Iterations are handed out in chunks by one atomic counter, so a slow thread delays nobody.
* A worker announces itself (`active`) before it looks whether the job is still open, and the
  launcher closes the job before it waits for `active` to reach zero: a worker that wakes too late
  finds the job closed and the launcher never waits for it.
* Nested launches, and launches while another thread owns the pool, run in the calling thread.
* A failing iteration stops the job; its error is moved from the worker to the launching thread.
* After `fork` the child has no workers: the process id is compared at each launch.

Linux only (futex); elsewhere the same functions run the loop in the calling thread.
The same text serves jitted code (one pool per process) and exported libraries (one pool each,
hidden symbols, stopped by a destructor).
"""

from __future__ import annotations

from workbench.target.codegen.machine import Machine

#: `i32 launch(ptr body, ptr closure, i64 extent)`; `i32 body(ptr closure, i64 begin, i64 end)`.
LAUNCH = "wb_parallel_launch"
STOP = "wb_pool_stop"
SET_THREADS = "wb_pool_set_threads"
GET_THREADS = "wb_pool_threads"
#: The packed function by which an exported library is told the number of threads.
PACKED_SET_THREADS = "__tvm_ffi_workbench_set_num_threads"

MAX_THREADS = 256
#: Turns of the waiting loop before a thread parks: some tens of microseconds.
SPIN = 4000
#: Chunks per thread: more balance better, fewer cost less.
CHUNKS_PER_THREAD = 4

_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
#: The instruction that tells a processor it is waiting: (call, declaration).
_PAUSE = {
    "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
}


def threadpool_ir(machine: Machine, *, exported: bool) -> str:
    """The pool for a machine; `exported` is the variant that goes into a shared library."""
    futex = _FUTEX.get(machine.arch)
    visible = "hidden " if exported else ""
    if not machine.is_linux or futex is None:
        text = _SERIAL
    else:
        pause, declaration = _PAUSE.get(machine.arch, ("", ""))
        text = (
            (declaration + _POOL)
            .replace("$PAUSE", pause)
            .replace("$FUTEX", str(futex))
            .replace("$MAX_THREADS", str(MAX_THREADS))
            .replace("$SPIN", str(SPIN))
            .replace("$CHUNKS", str(CHUNKS_PER_THREAD))
        )
    text = text.replace("$VISIBLE ", visible)
    return text + (_EXPORTED if exported else "")


_SERIAL = """
@wb.wanted = internal global i32 1

define $VISIBLE i32 @wb_parallel_launch(ptr %body, ptr %closure, i64 %extent) {
entry:
  %some = icmp sgt i64 %extent, 0
  br i1 %some, label %serial, label %empty
serial:
  %rc = call i32 %body(ptr %closure, i64 0, i64 %extent)
  ret i32 %rc
empty:
  ret i32 0
}

define $VISIBLE void @wb_pool_stop() {
  ret void
}

define $VISIBLE void @wb_pool_set_threads(i32 %count) {
  ret void
}

define $VISIBLE i32 @wb_pool_threads() {
  ret i32 1
}
"""

_EXPORTED = """
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }]
  [{ i32, ptr, ptr } { i32 65535, ptr @wb_pool_stop, ptr null }]

; Any is { i32 type index, i32 padding, i64 payload }; type index 1 is an integer.
define i32 @__tvm_ffi_workbench_set_num_threads(ptr %self, ptr %args, i32 %count, ptr %result) {
entry:
  %one = icmp eq i32 %count, 1
  br i1 %one, label %read, label %done
read:
  %kind = load i32, ptr %args
  %is_int = icmp eq i32 %kind, 1
  br i1 %is_int, label %set, label %done
set:
  %at = getelementptr i8, ptr %args, i64 8
  %wide = load i64, ptr %at
  %number = trunc i64 %wide to i32
  call void @wb_pool_set_threads(i32 %number)
  br label %done
done:
  ret i32 0
}
"""

_POOL = """
; What changes at every launch lies in cache lines of its own.
@wb.generation = internal global i32 0, align 128
@wb.next = internal global i64 0, align 128
@wb.active = internal global i32 0, align 128
@wb.open = internal global i32 0, align 128
@wb.waiting = internal global i32 0
@wb.parked = internal global i32 0
@wb.failed = internal global i32 0
@wb.error = internal global ptr null
@wb.body = internal global ptr null
@wb.closure = internal global ptr null
@wb.extent = internal global i64 0
@wb.chunk = internal global i64 1
@wb.busy = internal global i32 0, align 128
@wb.wanted = internal global i32 0
@wb.workers = internal global i32 0
@wb.stopping = internal global i32 0
@wb.pid = internal global i32 0
@wb.ids = internal global [$MAX_THREADS x i64] zeroinitializer
@wb.env = internal constant [22 x i8] c"WORKBENCH_NUM_THREADS\\00"

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @getpid()
declare i32 @usleep(i32)
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare i64 @syscall(i64, ...)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
declare void @TVMFFIErrorMoveFromRaised(ptr)
declare void @TVMFFIErrorSetRaised(ptr)
declare i32 @TVMFFIObjectDecRef(ptr)

define internal void @wb.wake(ptr %word) {
  ; FUTEX_WAKE | FUTEX_PRIVATE_FLAG, everybody
  %rc = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %word, i32 129, i32 2147483647)
  ret void
}

define internal void @wb.park(ptr %word, i32 %value) {
  ; FUTEX_WAIT | FUTEX_PRIVATE_FLAG while the word has the value
  %rc = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr %word, i32 128, i32 %value, ptr null)
  ret void
}

; Takes chunks of the open job until none is left.
define internal void @wb.work() {
entry:
  %second = alloca ptr
  %body = load ptr, ptr @wb.body
  %closure = load ptr, ptr @wb.closure
  %extent = load i64, ptr @wb.extent
  %chunk = load i64, ptr @wb.chunk
  br label %take
take:
  %begin = atomicrmw add ptr @wb.next, i64 %chunk seq_cst
  %more = icmp slt i64 %begin, %extent
  br i1 %more, label %run, label %done
run:
  %after = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %after, i64 %extent)
  %rc = call i32 %body(ptr %closure, i64 %begin, i64 %end)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %take, label %fail
fail:
  store atomic i64 %extent, ptr @wb.next seq_cst, align 8
  %before = atomicrmw xchg ptr @wb.failed, i32 1 seq_cst
  %first = icmp eq i32 %before, 0
  br i1 %first, label %keep, label %drop
keep:
  call void @TVMFFIErrorMoveFromRaised(ptr @wb.error)
  br label %done
drop:
  store ptr null, ptr %second
  call void @TVMFFIErrorMoveFromRaised(ptr %second)
  %extra = load ptr, ptr %second
  %none = icmp eq ptr %extra, null
  br i1 %none, label %done, label %release
release:
  %rc2 = call i32 @TVMFFIObjectDecRef(ptr %extra)
  br label %done
done:
  ret void
}

define internal ptr @wb.worker(ptr %start) {
entry:
  %start_int = ptrtoint ptr %start to i64
  %first = trunc i64 %start_int to i32
  br label %wait
wait:
  %seen = phi i32 [ %first, %entry ], [ %now, %wait_next ]
  br label %spin
spin:
  %turn = phi i32 [ 0, %wait ], [ %turn1, %pause ], [ 0, %sleep ]
  %now = load atomic i32, ptr @wb.generation seq_cst, align 4
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %awake, label %again
again:
  %turn1 = add i32 %turn, 1
  %tired = icmp ugt i32 %turn1, $SPIN
  br i1 %tired, label %sleep, label %pause
pause:
  $PAUSE
  br label %spin
sleep:
  %p0 = atomicrmw add ptr @wb.parked, i32 1 seq_cst
  call void @wb.park(ptr @wb.generation, i32 %seen)
  %p1 = atomicrmw sub ptr @wb.parked, i32 1 seq_cst
  br label %spin
awake:
  %stop = load atomic i32, ptr @wb.stopping seq_cst, align 4
  %stops = icmp ne i32 %stop, 0
  br i1 %stops, label %quit, label %join
join:
  %a0 = atomicrmw add ptr @wb.active, i32 1 seq_cst
  %open = load atomic i32, ptr @wb.open seq_cst, align 4
  %is_open = icmp ne i32 %open, 0
  br i1 %is_open, label %help, label %leave
help:
  call void @wb.work()
  br label %leave
leave:
  %a1 = atomicrmw sub ptr @wb.active, i32 1 seq_cst
  %last = icmp eq i32 %a1, 1
  %waits = load atomic i32, ptr @wb.waiting seq_cst, align 4
  %waited = icmp ne i32 %waits, 0
  %tell = and i1 %last, %waited
  br i1 %tell, label %wake, label %wait_next
wake:
  call void @wb.wake(ptr @wb.active)
  br label %wait_next
wait_next:
  br label %wait
quit:
  ret ptr null
}

; Number of threads a job uses: what was set, else the environment, else the processors allowed.
define $VISIBLE i32 @wb_pool_threads() {
entry:
  %mask = alloca [16 x i64], align 8
  %wanted = load atomic i32, ptr @wb.wanted seq_cst, align 4
  %known = icmp sgt i32 %wanted, 0
  br i1 %known, label %give_wanted, label %look
give_wanted:
  ret i32 %wanted
look:
  %text = call ptr @getenv(ptr @wb.env)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %ask, label %parse
parse:
  %number = call i32 @atoi(ptr %text)
  %positive = icmp sgt i32 %number, 0
  br i1 %positive, label %keep, label %ask
ask:
  %rc = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %bad = icmp ne i32 %rc, 0
  br i1 %bad, label %keep, label %count
count:
  %i = phi i64 [ 0, %ask ], [ %i1, %count ]
  %sum = phi i64 [ 0, %ask ], [ %sum1, %count ]
  %at = getelementptr i64, ptr %mask, i64 %i
  %word = load i64, ptr %at
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %sum1 = add i64 %sum, %bits
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, 16
  br i1 %more, label %count, label %counted
counted:
  %sum32 = trunc i64 %sum1 to i32
  br label %keep
keep:
  %found = phi i32 [ %number, %parse ], [ 1, %ask ], [ %sum32, %counted ]
  %low = call i32 @llvm.smax.i32(i32 %found, i32 1)
  %high = call i32 @llvm.smin.i32(i32 %low, i32 $MAX_THREADS)
  store atomic i32 %high, ptr @wb.wanted seq_cst, align 4
  ret i32 %high
}

define $VISIBLE void @wb_pool_set_threads(i32 %count) {
  %low = call i32 @llvm.smax.i32(i32 %count, i32 1)
  %high = call i32 @llvm.smin.i32(i32 %low, i32 $MAX_THREADS)
  store atomic i32 %high, ptr @wb.wanted seq_cst, align 4
  ret void
}

; Ends and joins all workers. The caller owns the pool.
define internal void @wb.end_workers() {
entry:
  %count = load i32, ptr @wb.workers
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %tell
tell:
  store atomic i32 1, ptr @wb.stopping seq_cst, align 4
  %g = atomicrmw add ptr @wb.generation, i32 1 seq_cst
  call void @wb.wake(ptr @wb.generation)
  br label %join
join:
  %i = phi i32 [ 0, %tell ], [ %i1, %join ]
  %at = getelementptr i64, ptr @wb.ids, i32 %i
  %id = load i64, ptr %at
  %rc = call i32 @pthread_join(i64 %id, ptr null)
  %i1 = add i32 %i, 1
  %more = icmp slt i32 %i1, %count
  br i1 %more, label %join, label %joined
joined:
  store i32 0, ptr @wb.workers
  store atomic i32 0, ptr @wb.stopping seq_cst, align 4
  br label %done
done:
  ret void
}

; Makes the number of workers `count`. Signals are left to the other threads of the process.
define internal void @wb.start_workers(i32 %count) {
entry:
  %all = alloca [128 x i8], align 8
  %old = alloca [128 x i8], align 8
  call void @wb.end_workers()
  %rc0 = call i32 @sigfillset(ptr %all)
  %rc1 = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  %any = icmp sgt i32 %count, 0
  br i1 %any, label %start, label %done
start:
  %i = phi i32 [ 0, %entry ], [ %i1, %started ]
  %at = getelementptr i64, ptr @wb.ids, i32 %i
  %now = load atomic i32, ptr @wb.generation seq_cst, align 4
  %now64 = zext i32 %now to i64
  %arg = inttoptr i64 %now64 to ptr
  %rc = call i32 @pthread_create(ptr %at, ptr null, ptr @wb.worker, ptr %arg)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %started, label %done
started:
  %i1 = add i32 %i, 1
  store i32 %i1, ptr @wb.workers
  %more = icmp slt i32 %i1, %count
  br i1 %more, label %start, label %done
done:
  %rc2 = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}

; A forked child: threads and locks of the parent do not exist here.
define internal void @wb.check_process() {
entry:
  %pid = call i32 @getpid()
  %old = load atomic i32, ptr @wb.pid seq_cst, align 4
  %same = icmp eq i32 %pid, %old
  br i1 %same, label %done, label %claim
claim:
  %pair = cmpxchg ptr @wb.pid, i32 %old, i32 %pid seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %pair, 1
  %child = icmp ne i32 %old, 0
  %reset = and i1 %mine, %child
  br i1 %reset, label %clear, label %done
clear:
  store i32 0, ptr @wb.workers
  store atomic i32 0, ptr @wb.active seq_cst, align 4
  store atomic i32 0, ptr @wb.parked seq_cst, align 4
  store atomic i32 0, ptr @wb.open seq_cst, align 4
  store atomic i32 0, ptr @wb.waiting seq_cst, align 4
  store atomic i32 0, ptr @wb.stopping seq_cst, align 4
  store atomic i32 0, ptr @wb.busy seq_cst, align 4
  br label %done
done:
  ret void
}

define $VISIBLE i32 @wb_parallel_launch(ptr %body, ptr %closure, i64 %extent) {
entry:
  %some = icmp sgt i64 %extent, 0
  br i1 %some, label %any, label %empty
empty:
  ret i32 0
any:
  %many = icmp sgt i64 %extent, 1
  br i1 %many, label %check, label %serial
check:
  call void @wb.check_process()
  %threads = call i32 @wb_pool_threads()
  %parallel = icmp sgt i32 %threads, 1
  br i1 %parallel, label %lock, label %serial
lock:
  %pair = cmpxchg ptr @wb.busy, i32 0, i32 1 seq_cst seq_cst
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %size, label %serial
size:
  %wanted = sub i32 %threads, 1
  %have = load i32, ptr @wb.workers
  %fits = icmp eq i32 %have, %wanted
  br i1 %fits, label %post, label %resize
resize:
  call void @wb.start_workers(i32 %wanted)
  br label %post
post:
  %threads64 = zext i32 %threads to i64
  %parts = mul i64 %threads64, $CHUNKS
  %round = add i64 %extent, %parts
  %up = sub i64 %round, 1
  %chunk = sdiv i64 %up, %parts
  store ptr %body, ptr @wb.body
  store ptr %closure, ptr @wb.closure
  store i64 %extent, ptr @wb.extent
  store i64 %chunk, ptr @wb.chunk
  store ptr null, ptr @wb.error
  store atomic i32 0, ptr @wb.failed seq_cst, align 4
  store atomic i64 0, ptr @wb.next seq_cst, align 8
  store atomic i32 1, ptr @wb.open seq_cst, align 4
  %g = atomicrmw add ptr @wb.generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr @wb.parked seq_cst, align 4
  %anybody = icmp ne i32 %asleep, 0
  br i1 %anybody, label %wake, label %help
wake:
  call void @wb.wake(ptr @wb.generation)
  br label %help
help:
  call void @wb.work()
  store atomic i32 0, ptr @wb.open seq_cst, align 4
  br label %spin
spin:
  %turn = phi i32 [ 0, %help ], [ %turn1, %pause ], [ 0, %slept ]
  %busy = load atomic i32, ptr @wb.active seq_cst, align 4
  %idle = icmp eq i32 %busy, 0
  br i1 %idle, label %finish, label %again
again:
  %turn1 = add i32 %turn, 1
  %tired = icmp ugt i32 %turn1, $SPIN
  br i1 %tired, label %sleep, label %pause
pause:
  $PAUSE
  br label %spin
sleep:
  store atomic i32 1, ptr @wb.waiting seq_cst, align 4
  call void @wb.park(ptr @wb.active, i32 %busy)
  br label %slept
slept:
  store atomic i32 0, ptr @wb.waiting seq_cst, align 4
  br label %spin
finish:
  %failed = load atomic i32, ptr @wb.failed seq_cst, align 4
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %raise, label %unlock
raise:
  %error = load ptr, ptr @wb.error
  %missing = icmp eq ptr %error, null
  br i1 %missing, label %unlock, label %pass_on
pass_on:
  call void @TVMFFIErrorSetRaised(ptr %error)
  %rc2 = call i32 @TVMFFIObjectDecRef(ptr %error)
  br label %unlock
unlock:
  %result = sub i32 0, %failed
  store atomic i32 0, ptr @wb.busy seq_cst, align 4
  ret i32 %result
serial:
  %rc = call i32 %body(ptr %closure, i64 0, i64 %extent)
  ret i32 %rc
}

; At exit, or when a library is unloaded: waits (two seconds at most) for a running job.
define $VISIBLE void @wb_pool_stop() {
entry:
  %pid = call i32 @getpid()
  %own = load atomic i32, ptr @wb.pid seq_cst, align 4
  %same = icmp eq i32 %pid, %own
  br i1 %same, label %try, label %done
try:
  %i = phi i32 [ 0, %entry ], [ %i1, %wait ]
  %pair = cmpxchg ptr @wb.busy, i32 0, i32 1 seq_cst seq_cst
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %stop, label %wait
wait:
  %rc = call i32 @usleep(i32 100)
  %i1 = add i32 %i, 1
  %patient = icmp slt i32 %i1, 20000
  br i1 %patient, label %try, label %done
stop:
  call void @wb.end_workers()
  store atomic i32 0, ptr @wb.busy seq_cst, align 4
  br label %done
done:
  ret void
}
"""
