# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=600
"""Memory is refused at one place after the other, then beyond one limit after the other, which libdw
meets as well: hawk-core says so, or answers as it would have, but never crashes, and never leaves
something out without a word."""

import json
import os
import random
import resource

from support import hawk, holder_world

STEP, LIMITS = 923 << 10, 12  # bytes of address space
# Each asks for some hundred places; of these, one in so many is tried.
VERBS = ((["analyze", "--json"], 3), (["analyze", "--full"], 8), (["leaks", "--threads=2"], 6),
         (["retained", "--by=tree", "--threads=2"], 8), (["sites", "--threads=2"], 8))


def ask(verb, **short):
    environment = dict(os.environ, LD_PRELOAD=library,
                       **{name.upper(): str(value) for name, value in short.items()})
    return hawk.run([hawk.CORE, verb[0], "--quiet", *verb[1:], core],
                    env=environment, timeout=60)


def check_answer(done, whole, verb, what):
    said = done.stdout + done.stderr
    codes = (hawk.EXIT_OK, hawk.EXIT_CONDITION, hawk.EXIT_UNREADABLE, hawk.EXIT_PARTIAL)
    hawk.expect(done.returncode in codes, f"{what}: {done.returncode} {said[-300:]!r}")
    if done.returncode == hawk.EXIT_UNREADABLE:
        hawk.expect("memory" in done.stderr, f"{what}: message {done.stderr!r}")
    elif done.stdout != whole.stdout:
        hawk.expect("memory" in said, f"{what}: another answer without a word")
        hawk.expect("Nothing was missing" not in done.stdout, f"{what}: {done.stdout[-300:]}")
        partial = (hawk.EXIT_PARTIAL, hawk.EXIT_CONDITION) if verb[0] == "leaks" else (hawk.EXIT_PARTIAL,)
        hawk.expect(done.returncode in partial, f"{what}: {done.returncode} {said[-300:]!r}")
        if "--json" in verb:
            hawk.expect(json.loads(done.stdout)["partial"], f"{what}: partial")


def check_verb(verb, one_in):
    calls = os.path.join(folder, "calls")
    whole = ask(verb, short_list=calls)
    with open(calls, encoding="ascii") as file:
        places = [int(line) for line in file]
    if not hawk.expect(len(places) > 30, f"{verb}: {len(places)} places"):
        return
    refused = 0
    for place in random.sample(range(len(places)), len(places) // one_in):
        turn = random.choice((1, 1, random.randrange(1, places[place] + 1)))
        done = ask(verb, short_place=place, short_turn=turn)
        check_answer(done, whole, verb, f"{verb}: place {place}, turn {turn}")
        refused += done.returncode == hawk.EXIT_UNREADABLE
        if place % 3 == 0:
            done = ask(verb, short_place=place, short_for_good=1)
            check_answer(done, whole, verb, f"{verb}: from place {place} on")
    hawk.expect(refused, f"{verb}: something cannot be done without memory")


def check_one_mapping():
    """One mmap() fails: what was left out is missing, and the answer is not called whole."""
    verb = ["analyze"]
    whole, left_out = ask(verb), 0
    for number in range(1, 100, 3):
        done = ask(verb, short_mmap=number)
        check_answer(done, whole, verb, f"{verb}: mmap {number}")
        left_out += done.returncode == hawk.EXIT_PARTIAL
        if "No suspects: out of memory" in done.stdout:
            hawk.expect("left out for want of memory" in " ".join(done.stdout.split()), f"mmap {number}: {done.stdout}")
    hawk.expect(left_out, "something was left out")


def check_few_descriptors():
    """A module's file that cannot be opened for want of descriptors is missing: its names are."""
    whole = hawk.run([hawk.CORE, "analyze", core])
    said = 0
    for count in range(3, 24, 2):
        done = hawk.run([hawk.CORE, "analyze", core],
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)))
        if done.returncode in (127, hawk.EXIT_UNREADABLE):
            continue
        if done.stdout != whole.stdout:
            said += 1
            hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, f"{count} descriptors: {done.stdout}")
            hawk.expect("Too many open files" in done.stdout and "no file was found" not in done.stdout,
                        f"{count} descriptors: {done.stdout}")
    print(f"{said} answers without files")


def ask_below(limit, words):
    return hawk.run([hawk.CORE, *words], timeout=60,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def enough(words):
    """Bytes of address space that suffice, to the step."""
    low, high = 0, 8 << 30
    while high - low > STEP:
        middle = (low + high) // 2
        if ask_below(middle, words).returncode == hawk.EXIT_OK:
            high = middle
        else:
            low = middle
    return high


def check_limits(words):
    whole = hawk.run([hawk.CORE, *words])
    hawk.expect_equal(whole.returncode, hawk.EXIT_OK, f"{words}: {whole.stderr!r}")
    most = enough(words)
    print(f"{words}: {most >> 20} MiB suffice")
    for limit in range(most - LIMITS * STEP, most, STEP):
        check_answer(ask_below(limit, words), whole, words, f"{words} below {limit >> 10} KiB")


random.seed(3)
folder = hawk.temporary_folder()
library = hawk.compile_program(os.path.join(folder, "short_memory.so"), ["short_memory.c"],
                               flags=["-O2", "-shared", "-fPIC", "-ftls-model=initial-exec"])
hawk.small_stacks()
core, _ = holder_world.crash(folder)
check_one_mapping()
check_few_descriptors()
for verb_asked, share in VERBS:
    check_verb(verb_asked, share)
check_limits(["analyze", "--quiet", core])
check_limits(["snapshot", "--quiet", "--force", "-o", os.path.join(folder, "short.hawk"), core])
hawk.finish()
