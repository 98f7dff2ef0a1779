# SPDX-License-Identifier: Apache-2.0
"""hawk-core threads: what threads wait for, owners, deadlocks, equal threads, stacks that were overwritten; gdb's stacks
beside ours."""

import json
import os
import re
import signal
import subprocess

from support import hawk, json_schema

FUTEX = 202
# Each thread prints its name and tid, then does what the name says. Flags order them: nothing depends on time.
WAITS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER, lock_c = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, orphan = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t gate;
static sem_t tickets;
static struct job { long number; pthread_mutex_t lock; } *job;
static atomic_int locked, written, flocked;
static void tell(const char *name) { printf("%s %d\n", name, gettid()); fflush(stdout); }
static void until(atomic_int *flag, int count) { while (atomic_load(flag) < count) sched_yield(); }
static void *circle(const char *name, pthread_mutex_t *first, pthread_mutex_t *second)
{
	tell(name);
	pthread_mutex_lock(first);
	atomic_fetch_add(&locked, 1);
	until(&locked, 3);
	pthread_mutex_lock(second);
	return NULL;
}
static void *circle_a(void *x) { (void)x; return circle("circle_a", &lock_a, &lock_b); }
static void *circle_b(void *x) { (void)x; return circle("circle_b", &lock_b, &lock_c); }
static void *circle_c(void *x) { (void)x; return circle("circle_c", &lock_c, &lock_a); }
static void *itself(void *x) { tell("itself"); pthread_mutex_lock(&own); pthread_mutex_lock(&own); return x; }
static void *ends(void *x) { pthread_mutex_lock(&orphan); return x; }
static void *orphaned(void *x) { tell("orphaned"); pthread_mutex_lock(&orphan); return x; }
static void *writer(void *x) { tell("writer"); pthread_rwlock_wrlock(&shared); atomic_store(&written, 1); pause(); return x; }
static void *reader(void *x) { tell("reader"); until(&written, 1); pthread_rwlock_rdlock(&shared); return x; }
static void *waiter(void *x) { tell("waiter"); pthread_mutex_lock(&guard); pthread_cond_wait(&ready, &guard); return x; }
static void *buyer(void *x) { tell("buyer"); sem_wait(&tickets); return x; }
static void *at_gate(void *x) { tell("at_gate"); pthread_barrier_wait(&gate); return x; }
static void *joiner(void *x) { tell("joiner"); pthread_join(*(pthread_t *)x, NULL); return x; }
static void *worker(void *x) { struct job *mine = x; tell("worker"); pthread_mutex_lock(&mine->lock); return x; }
static void *idle(void *x) { struct epoll_event events[8]; tell("idle"); for (;;) epoll_wait(*(int *)x, events, 8, -1); return x; }
static pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, argument);
	return thread;
}
int main(void)
{
	int fd = epoll_create1(0);
	pthread_t thread;
	tell("main");
	job = malloc(sizeof(*job));
	pthread_mutex_init(&job->lock, NULL);
	pthread_mutex_lock(&job->lock);
	pthread_barrier_init(&gate, NULL, 2);
	sem_init(&tickets, 0, 0);
	pthread_join(start(ends, NULL), NULL);
	start(circle_a, NULL), start(circle_b, NULL), start(circle_c, NULL), start(itself, NULL), start(orphaned, NULL);
	thread = start(writer, NULL);
	start(reader, NULL), start(waiter, NULL), start(buyer, NULL), start(at_gate, NULL), start(joiner, &thread);
	start(worker, job);
	for (int i = 0; i < 20; i++)
		start(idle, &fd);
	for (;;)
		pause();
}
"""
# What each waits for, the variable, and who holds it.
WANTED = {
    "circle_a": ("mutex", "lock_b", "circle_b"), "circle_b": ("mutex", "lock_c", "circle_c"),
    "circle_c": ("mutex", "lock_a", "circle_a"), "itself": ("mutex", "own", "itself"), "orphaned": ("mutex", "orphan", None),
    "reader": ("rwlock", "shared", "writer"), "waiter": ("condition", "ready", None), "buyer": ("semaphore", "tickets", None),
    "at_gate": ("barrier", "gate", None), "joiner": ("thread", None, "writer"), "worker": ("mutex", None, "main"),
}
THREADS = 13 + 20
SMASHED = r"""
#include <stdlib.h>
static __attribute__((noinline)) void fill(volatile char *to, int count) { while (count--) *to++ = 'A'; }
static __attribute__((noinline)) int parse(int count) { char name[64]; fill(name, count); return name[0]; }
static __attribute__((noinline)) int handle(int count) { volatile char room[8192]; room[0] = 1; return parse(count) + room[0]; }
int main(int count, char **arguments) { return handle(count > 1 ? atoi(arguments[1]) : 0); }
"""


def threads_of(core, *arguments, codes=(1,)):
    done = hawk.run([hawk.CORE, "threads", "--json", *arguments, *([core] if core else [])])
    hawk.expect(done.returncode in codes, f"threads {arguments}: exit code {done.returncode}, {done.stderr}")
    document = hawk.parse(done.stdout)
    hawk.expect_equal(json_schema.validate(json.loads(done.stdout), json_schema.load("threads-3.json")), [], "schema")
    return document


def is_waiting(pid, tid):
    try:
        with open(f"/proc/{pid}/task/{tid}/syscall") as file:
            return file.read().startswith(f"{FUTEX} ")
    except OSError:
        return False


def start(before=()):
    process = subprocess.Popen([*before, program], stdout=subprocess.PIPE, text=True, cwd=folder, preexec_fn=hawk.allow_cores)
    tids = {}
    for _ in range(THREADS):
        name, tid = process.stdout.readline().split()
        tids.setdefault(name, []).append(int(tid))
    if not before:
        hawk.wait_for(lambda: all(is_waiting(process.pid, tids[name][0]) for name in WANTED), 60, "threads that wait")
    return process, tids


def check_waits(document, tids, what, blocks=True):
    by_tid = {thread["tid"]: thread for thread in document["threads"]}
    hawk.expect_equal(document["thread_count"], THREADS, f"{what}: threads")
    hawk.expect_equal(document["deadlock_count"], 2, f"{what}: deadlocks")
    for name, (kind, symbol, owner) in WANTED.items():
        lock = by_tid[tids[name][0]]["waits_for"] or {}
        hawk.expect_equal((lock.get("kind"), lock.get("symbol"), lock.get("owner_tid")),
                          (kind, symbol, tids[owner][0] if owner else lock.get("owner_tid")), f"{what}: {name}")
        hawk.expect_equal(lock.get("owner_ended"), name == "orphaned", f"{what}: {name}'s owner")
    circle = {by_tid[tids[f"circle_{letter}"][0]]["deadlock"] for letter in "abc"}
    hawk.expect(len(circle) == 1 and None not in circle, f"{what}: circle {circle}")
    hawk.expect(by_tid[tids["itself"][0]]["deadlock"], f"{what}: a thread that waits for itself")
    hawk.expect(not by_tid[tids["worker"][0]]["deadlock"], f"{what}: a thread that only waits")
    worker = by_tid[tids["worker"][0]]
    if blocks:
        hawk.expect(worker["waits_for"]["block"] in [block["address"] for block in worker["blocks"]],
                    f"{what}: {worker['blocks']}")
    idle = [by_tid[tid] for tid in tids["idle"]]
    hawk.expect_equal({(thread["group"], thread["system_call"]["name"]) for thread in idle},
                      {(idle[0]["group"], "epoll_wait")}, f"{what}: idle threads")
    hawk.expect(idle[0]["system_call"]["text"].endswith(", 8, no limit)"), f"{what}: {idle[0]['system_call']}")


def check_stacks(document, core):
    """Our functions come in the order of gdb's, which also adds callers that left by a jump (tail calls)."""
    done = hawk.run([hawk.need("gdb"), "-batch", "-nx", "-ex", "thread apply all bt", program, core])
    gdb = {}
    for line in done.stdout.splitlines():
        begun = re.match(r"Thread \d+ \(.*LWP (\d+)\)", line)
        frame = re.match(r"#\d+ +(?:0x[0-9a-f]+ in )?(?:__GI_)?([^ (]+)", line)
        if begun:
            names = gdb.setdefault(int(begun.group(1)), [])
        elif frame and gdb:
            names.append(frame.group(1))
    hawk.expect_equal(len(gdb), THREADS, "gdb's threads")
    for thread in document["threads"]:
        ours = [frame["function"] for frame in thread["frames"] if frame["function"]]
        rest = iter(gdb.get(thread["tid"], ()))
        if "main" in ours:  # where gdb ends
            ours = ours[:ours.index("main") + 1]
        hawk.expect(all(name in rest for name in ours), f"{thread['tid']}: {ours}, gdb: {gdb.get(thread['tid'])}")


def check_namespace():
    """Locks have the numbers of the process's own PID namespace, the kernel's files those of ours."""
    unshare = [hawk.need("unshare"), "--pid", "--fork", "--kill-child", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if hawk.run([*unshare, "true"]).returncode:
        print("no namespaces here")
        return
    process, inner = start(before=unshare)
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
            pid = int(file.read())
        hawk.wait_for(lambda: sum(is_waiting(pid, tid) for tid in os.listdir(f"/proc/{pid}/task")) == len(WANTED), 60, "waits")
        document = threads_of(None, "--pid", str(pid))
    finally:
        process.kill()
        process.wait()
    ended = [thread["tid"] for thread in document["threads"] if (thread["waits_for"] or {}).get("owner_ended")]
    hawk.expect_equal((document["deadlock_count"], len(ended)), (2, 1), f"in a namespace: {inner}, ended: {ended}")


def check_text(core):
    text = hawk.text_of("threads", core, codes=(1,), env={**os.environ, "COLUMNS": "80"})
    hawk.expect_columns(text, "threads")
    hawk.expect("Deadlock: 3 threads wait for each other" in text, text)
    hawk.expect("20 threads: " in text, text)
    first = hawk.text_of("analyze", core, codes=(0, 4), env={**os.environ, "COLUMNS": "80"})
    hawk.expect_columns(first, "analyze")
    hawk.expect("Deadlock: 3 threads wait for each other" in first and "others    20 in epoll_wait" in first, first[:3000])
    others = first.partition("\n  others ")[2].partition("\n\n")[0].partition("Deadlock")[0]
    hawk.expect_equal(sum(map(int, re.findall(r"\b\d+\b", others))), THREADS - 1, f"beside the one shown: {others}")


def check_smashed():
    smashed = hawk.compile_text(folder, "smashed", SMASHED, flags=["-O0", "-fno-stack-protector"])
    core, _ = hawk.crash([smashed, "4096"], os.environ, hawk.temporary_folder(), signals=(signal.SIGSEGV,))
    document = threads_of(core, codes=(4,))
    frames = document["threads"][0]["frames"]
    hawk.expect(any(frame["function"] == "main" and frame.get("confidence") == "guess" for frame in frames),
                f"main behind 4096 overwritten bytes: {[(frame['function'], frame.get('confidence')) for frame in frames]}")
    hawk.expect(not document["threads"][0]["complete"], "a guess is called complete")


# What waits in the C library is known by the names of its functions, as gdb knows them.
hawk.use_debug_files()
folder = hawk.temporary_folder()
program = hawk.compile_text(folder, "waits", WAITS, flags=["-g", "-O1", "-pthread"])
waiting, known = start()
try:
    check_waits(threads_of(None, "--pid", str(waiting.pid)), known, "--pid")
    copy = hawk.gcore(waiting.pid, folder)
finally:
    waiting.kill()
    waiting.wait()
check_waits(threads_of(copy), known, "gcore")
kept = os.path.join(folder, "kept.hawk")
hawk.run([hawk.CORE, "snapshot", "-q", "-o", kept, copy])
check_waits(threads_of(kept), known, "snapshot", blocks=False)
check_stacks(threads_of(copy), copy)
check_text(copy)
one = threads_of(copy, "--tid", str(known["worker"][0]))
hawk.expect_equal([thread["tid"] for thread in one["threads"]], [known["worker"][0]], "--tid")
done_with = hawk.run([hawk.CORE, "threads", "--tid", "1", copy])
hawk.expect_equal((done_with.returncode, "no thread 1" in done_with.stderr), (2, True), "--tid of no thread")
check_smashed()
check_namespace()
hawk.finish()
