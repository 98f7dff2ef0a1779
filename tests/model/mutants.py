# SPDX-License-Identifier: Apache-2.0
"""Proves that the model checker finds bugs: breaks the tracer's sources, each time in one place, and
expects a violation (exit code 3) in one of the scenarios named.

usage: mutants.py SOURCE BUILD-FOLDER-OF-THE-MODEL COMPILER

A mutation whose text is no longer in the source is a failure, too: change it along with the code.
"""

import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile

FLAGS = ("-std=gnu11 -D_GNU_SOURCE -DHAWK_MODEL=1 -O1 -fPIC -fsanitize=thread -fno-builtin "
         "-fno-strict-aliasing -w")
WRAPPED = ("memcpy", "memset", "pthread_key_create", "pthread_setspecific")

# what is broken, file, regular expression, replacement, scenarios
MUTANTS = (
    ("the hash is published before the frames", "table/traces.c",
     r"(\twords = hawk_arena_words\(index\);)",
     r"\t__atomic_store_n(&record->hash, frames->hash, __ATOMIC_RELEASE);\n\1",
     ("traces_same",)),
    ("the hash is published before the word index", "table/traces.c",
     r"(\trecord->generation = frames->generation;)",
     r"\t__atomic_store_n(&record->hash, frames->hash, __ATOMIC_RELEASE);\n\1",
     ("traces_same",)),
    ("a word of the index is stored, not exchanged", "table/traces.c",
     r"__atomic_compare_exchange_n\(at, &word, frames->hash << 32 \| search->written,\s*false, "
     r"__ATOMIC_RELEASE, __ATOMIC_ACQUIRE\)",
     r"(__atomic_store_n(at, frames->hash << 32 | search->written, __ATOMIC_RELEASE), true)",
     ("traces_chain", "traces_same")),
    ("whoever loses the race for a word of the index does not look at it", "table/traces.c",
     r"(\tsearch->id = id_if_equal\(word, frames\);)",
     r"\tif (search->written)\n\t\treturn false;\n\1", ("traces_same",)),
    ("a table of the index is published without an exchange", "table/arena.c",
     r"__atomic_compare_exchange_n\(place, &expected, word, false,\s*__ATOMIC_RELEASE,\s*"
     r"__ATOMIC_ACQUIRE\)",
     r"((void)expected, *place = word, true)", ("traces_table",)),
    ("whoever loses the race for a table of the index leaves one behind", "table/arena.c",
     r"\t\thawk_place_give_back\(memory, bytes\);\n\t\treturn expected;", r"\t\treturn expected;",
     ("traces_table",)),
    ("an id is taken without an exchange", "table/arena.c",
     r"!__atomic_compare_exchange_n\(count, &known, \*index \+ 1, false,\s*__ATOMIC_RELAXED, "
     r"__ATOMIC_RELAXED\)\);", r"(*count = *index + 1, 0));", ("traces_chain",)),
    ("the id of a label is taken without an exchange", "table/arena.c",
     r"!__atomic_compare_exchange_n\(count, &known, \*index \+ 1, false,\s*__ATOMIC_RELAXED, "
     r"__ATOMIC_RELAXED\)\);", r"(*count = *index + 1, 0));", ("labels_chain",)),
    ("words are taken without an exchange", "table/arena.c",
     r"if \(!__atomic_compare_exchange_n\(cursor, &at, end, false, __ATOMIC_RELAXED,\s*"
     r"__ATOMIC_RELAXED\)\)\s*continue;", r"*cursor = end;", ("arena_words",)),
    ("words may cross the border of a segment", "table/arena.c",
     r"if \(start \+ \(uint64_t\)count > limit\)", r"if (0)", ("arena_words",)),
    ("the loser of a segment unmaps the winner's", "table/span.c",
     r"hawk_place_give_back\(memory, bytes\);\n}",
     r"hawk_place_give_back((void *)(expected >> 29 << 12), bytes);\n}",
     ("arena_words", "traces_border")),
    ("a segment is published by a plain store", "table/span.c",
     r"__atomic_compare_exchange_n\(&span->state, &expected, pack\(\(uint64_t\)memory, bytes\),\s*"
     r"false, __ATOMIC_RELEASE, __ATOMIC_RELAXED\)",
     r"((void)expected, span->state = pack((uint64_t)memory, bytes), true)",
     ("arena_words", "traces_border")),
    ("words are handed out before all of them are mapped", "table/arena.c",
     r"HAWK_ARRAY_WORDS, end - 1\)", r"HAWK_ARRAY_WORDS, start)",
     ("arena_short",)),
    ("the limit is read and then raised", "table/place.c",
     r"uint64_t before = __atomic_fetch_add\(&mapped_bytes, bytes, __ATOMIC_RELAXED\);",
     r"uint64_t before = mapped_bytes;\n\n\tmapped_bytes = before + bytes;", ("arena_limit",)),
    ("a free slot is taken without an exchange", "table/threads.c",
     r"__atomic_compare_exchange_n\(&free_map\[i\], &bits, bits & ~lowest, false,\s*"
     r"__ATOMIC_ACQUIRE, __ATOMIC_RELAXED\)",
     r"(free_map[i] = bits & ~lowest, true)", ("slots_threads",)),
    ("a new slot is taken without an exchange", "table/threads.c",
     r"while \(!__atomic_compare_exchange_n\(count, &index, index \+ 1, false, "
     r"__ATOMIC_RELAXED,\s*__ATOMIC_RELAXED\)\);",
     r"while ((*count = index + 1, 0));", ("slots_new",)),
    ("slots are published without an exchange", "table/span.c",
     r"__atomic_compare_exchange_n\(&span->state, &expected, pack\(\(uint64_t\)memory, bytes\),\s*"
     r"false, __ATOMIC_RELEASE, __ATOMIC_RELAXED\)",
     r"((void)expected, span->state = pack((uint64_t)memory, bytes), true)", ("slots_new",)),
    ("a slot is given back while the thread still has it", "table/threads.c",
     r"hawk_thread_slot = HAWK_SLOT_GONE;\s*give_back\(head\);",
     r"give_back(head);\n\thawk_thread_slot = HAWK_SLOT_GONE;",
     ("slots_threads", "slots_handler")),
    ("a handler's slot is overwritten", "table/threads.c",
     r"__atomic_compare_exchange_n\(&hawk_thread_slot, &expected, slot, false,\s*"
     r"__ATOMIC_RELAXED,\s*__ATOMIC_RELAXED\)",
     r"(hawk_thread_slot = slot, (void)expected, true)", ("slots_handler",)),
    ("a slot is live before it says where its counters are", "table/threads.c",
     r"(\thead->index = index;)", r"\thead->record.state = HAWK_THREAD_LIVE;\n\1",
     ("slots_threads",)),
    ("a flush is applied before it is announced", "table/counters.c",
     r"(__atomic_store_n\(&head->record.flush, flush, __ATOMIC_RELEASE\);)\s*"
     r"(apply\(head, flush, entry\);)", r"\2\n\t\1", ("slots_flush", "slots_flush_twice")),
    ("an entry is emptied before it is added", "table/counters.c",
     r"(\tapply\(head, flush, entry\);)\s*(empty_entry\(head, entry\);)",
     r"\tstruct hawk_counter_entry copy = *entry;\n\tempty_entry(head, entry);\n"
     r"\tapply(head, flush, &copy);", ("slots_flush", "slots_flush_twice")),
    ("a tag is overwritten without a word to its owner", "table/counters.c",
     r"\tsave_news\(flush, pair, word0\);", r"\t;", ("slots_flush", "slots_flush_twice")),
    ("news of an allocation are taken for news of a free", "table/counters.c",
     r"is_free_entry\(news\) != is_free_entry\(flush\) \|\| ", r"", ("live_both",)),
    ("a free is counted by trace in a busy slot", "hooks/record.c",
     r"if \(!hawk_threads_is_idle\(slot\)\) \{(\s*free_at_once\()", r"if (0) {\1", ("live_handler",)),
    ("who waits too long for a segment goes without", "table/span.c",
     r"(if \(pauses\+\+ == PAUSES_MAX) &&\s*__atomic_compare_exchange_n\(&span->claim, &owner, tid, false, "
     r"__ATOMIC_ACQUIRE,\s*__ATOMIC_RELAXED\)\)\s*return true;", r"\1)\n\t\t\treturn false;",
     ("file_claims",)),
    ("a claim is taken without an exchange", "table/span.c",
     r"if \(__atomic_compare_exchange_n\(&span->claim, &owner, tid, false, __ATOMIC_ACQUIRE,\s*"
     r"__ATOMIC_RELAXED\) \|\|\s*owner == tid\)", r"if ((span->claim = tid))", ("file_growth",)),
    ("who gets a claim makes a segment that is there", "table/span.c",
     r"if \(!__atomic_load_n\(&span->state, __ATOMIC_ACQUIRE\)\)(\s*make\()", r"if (1)\1",
     ("file_growth",)),
    ("a file is full as soon as the last of it is taken", "table/span.c",
     r" && !__atomic_load_n\(&span->claim, __ATOMIC_ACQUIRE\);", r";", ("file_full",)),
    ("a known stack's words are believed as they are found", "table/traces.c",
     r"hash \^ low, __ATOMIC_RELAXED",
     r"hash ^ __atomic_load_n(&victim->words[1], __ATOMIC_RELAXED), __ATOMIC_RELAXED",
     ("known_full",)),
    ("a label is published before its name", "table/labels.c",
     r"(\trecord->kind = wanted->kind;)",
     r"\t__atomic_store_n(&record->hash, wanted->hash, __ATOMIC_RELEASE);\n\1", ("labels_chain",)),
    ("who loses the race for a chain of labels does not look again", "table/labels.c",
     r"if \(same\)", r"if (same && 0)", ("labels_same",)),
    ("the head of a chain of labels is stored, not exchanged", "table/labels.c",
     r"__atomic_compare_exchange_n\(bucket, &head, id, false, __ATOMIC_RELEASE,\s*"
     r"__ATOMIC_ACQUIRE\)",
     r"(__atomic_store_n(bucket, id, __ATOMIC_RELEASE), true)", ("labels_chain",)),
    ("the epoch is not looked at again after a rule is stored", "unwind/rules.c",
     r"if \(__atomic_load_n\(&hawk_unwind_epoch, __ATOMIC_SEQ_CST\) != epoch\)", r"if (0)",
     ("rules_unload",)),
    ("the rules go before the epoch", "unwind/walk.c",
     r"\t__atomic_fetch_add\(&hawk_unwind_epoch, 1, __ATOMIC_SEQ_CST\);",
     r"\thawk_rules_flush();\n\t__atomic_fetch_add(&hawk_unwind_epoch, 1, __ATOMIC_SEQ_CST);\n"
     r"\treturn;", ("rules_unload",)),
    ("a rule lingers in the store buffer", "unwind/rules.c",
     r"__atomic_store_n\(victim, word, __ATOMIC_SEQ_CST\);",
     r"__atomic_store_n(victim, word, __ATOMIC_RELEASE);", ("rules_linger",)),
    ("a page of the rules is not marked", "unwind/rules.c", r"\tmark_page\(victim\);", r"\t;",
     ("rules_unload",)),
    ("a flush leaves out the tables that follow the first", "unwind/rules.c",
     r"page < CACHE_PAGES; page\+\+", r"page < 4; page++", ("rules_growth",)),
    ("a module is published before it is written", "table/modules.c",
     r"(\trecord->start = module->start;)",
     r"\t__atomic_store_n(&record->state, 1, __ATOMIC_RELEASE);\n\1", ("modules_first",)),
    ("a module seen in an epoch that has ended stays in the log", "table/modules.c",
     r"(__atomic_store_n\(&record->state, 1, __ATOMIC_SEQ_CST\);\s*if \()is_epoch\(epoch\)",
     r"\g<1>true", ("modules_reload",)),
    ("the generation is not raised for another module", "table/modules.c",
     r"generation = __atomic_add_fetch\(&hawk_table_header->generation, 1, __ATOMIC_RELAXED\);",
     r"generation = hawk_table_header->generation;", ("modules_reload",)),
)


def run(command, timeout=100):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


class Builder:
    def __init__(self, source, model, compiler, folder):
        self.source, self.folder = source, folder
        self.compiler = shlex.split(compiler)
        self.model = model

    def compile(self, name, folder, text):
        """`folder`: of the source, whose neighbours it includes."""
        path = os.path.join(self.folder, name + ".c")
        includes = ["-iquote" + os.path.join(self.source, *parts) for parts in
                    (("tracer", folder), ("tracer",), ("formats",), ("tests", "model"))]
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = run(self.compiler + FLAGS.split() + includes +
                   ["-c", path, "-o", path + ".o"])
        return path + ".o" if not done.returncode else None, done.stderr

    def link(self, mutated, name):
        """The mutated object comes before the library and so takes the place of the right one."""
        program = os.path.join(self.folder, name)
        objects = [os.path.join(root, file) for root, _, files in
                   os.walk(os.path.join(self.model, "CMakeFiles", "hawk_model.dir"))
                   for file in files if file.endswith(".o")]
        done = run(self.compiler + ["-no-pie", "-rdynamic", "-o", program] + objects + [
            mutated, os.path.join(self.model, "libhawk_modelled.a")] +
            ["-Wl,--wrap=" + symbol for symbol in WRAPPED])
        return program if not done.returncode else None, done.stderr


def judge(builder, number, mutant):
    """A complaint, or None: the mutant was found out."""
    what, file, pattern, replacement, scenarios = mutant
    with open(os.path.join(builder.source, "tracer", file), encoding="utf-8") as handle:
        text, count = re.subn(pattern, replacement, handle.read())
    if count != 1:
        return f"{what}: the text is {count} times in {file}"
    folder, name = os.path.split(file)
    compiled, error = builder.compile(f"mutant{number}_{name[:-2]}", folder, text)
    program, error = builder.link(compiled, f"mutant{number}") if compiled else (None, error)
    if not program:
        return f"{what}: does not build: {error[-600:]}"
    for scenario in scenarios:
        done = run([program, scenario])
        if done.returncode == 3:
            print(f"{what}: {done.stdout.splitlines()[0]}", flush=True)
            return None
        if done.returncode:
            return f"{what}: {scenario} ended with {done.returncode}: {done.stderr[-300:]}"
    return f"{what}: not found by {', '.join(scenarios)}"


def main():
    source, model, compiler = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        builder = Builder(source, model, compiler, folder)
        complaints = [complaint for complaint in
                      pool.map(lambda pair: judge(builder, *pair), enumerate(MUTANTS)) if complaint]
    for complaint in complaints:
        print("FAILED:", complaint)
    print(f"{len(MUTANTS) - len(complaints)} of {len(MUTANTS)} mutants found out")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
