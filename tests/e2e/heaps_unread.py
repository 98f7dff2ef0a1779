"""Allocators and runtimes whose blocks are not read are named, in every answer about a heap."""

import os

from support import hawk, leaks

# Gives out memory piece by piece, and takes none back.
BUMP = r"""
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 64 << 20 };

void *malloc(size_t size)
{
	static char *at;

	if (!at)
		at = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	at += (size + 15) & -(size_t)16;
	return at - ((size + 15) & -(size_t)16);
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
	return block ? memcpy(malloc(size), block, size) : malloc(size);
}
"""

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>

void *kept[4000];
/* As Go's linker leaves it. */
__attribute__((aligned(16))) char mark[32] = MARK "Go buildinf:";

int main(void)
{
	mark[31] = 1;
	for (int i = 0; i < 4000; i++)
		kept[i] = memset(malloc(1000), 1, 1000);
	kept[7] = NULL;
	abort();
}
"""


def named(core, codes):
    """What `leaks` says of heaps that it cannot read."""
    document = leaks.ask(core, codes=codes)
    return document, [item["text"] for item in document["missing"] if item["key"] == "heap-unread"]


def check_libraries():
    program = hawk.compile_text(folder, "program", PROGRAM, flags=('-DMARK="none"',))
    for library, name in (("libmimalloc.so.9", "mimalloc"), ("librpmalloc.so", "rpmalloc")):
        built = hawk.compile_text(folder, "bump", BUMP, flags=("-shared", "-fPIC"))
        os.rename(built, os.path.join(folder, library))
        core, _ = hawk.crash([program], {**os.environ, "LD_PRELOAD": os.path.join(folder, library)}, folder)
        document, texts = named(core, (hawk.EXIT_PARTIAL,))
        hawk.expect(len(texts) == 1 and texts[0].startswith(f"{name}, layout unknown ({library}): up to 3.") and
                    "MiB not walked" in texts[0], f"{library}: {texts}")
        hawk.expect_equal(document["lost"], None, f"{library}: nobody knows what is lost")
        text = hawk.text_of("analyze", core, codes=(hawk.EXIT_PARTIAL,))
        hawk.expect("neither a trace table nor a known allocator" in " ".join(text.split()) and
                    "Heap: unknown, the process was not traced, and its allocator cannot be read\n" in text,
                    f"{library}: why the heap is unknown")


def check_go():
    program = hawk.compile_text(folder, "go", PROGRAM, flags=(r'-DMARK="\377 "',))
    core, _ = hawk.crash([program], dict(os.environ), folder)
    document, texts = named(core, (hawk.EXIT_CONDITION,))
    hawk.expect(len(texts) == 1 and texts[0].startswith("the heap of Go (go) is not read"), f"Go: {texts}")
    hawk.expect_equal(document["definitely_lost"]["objects"], 1, "blocks of malloc() are known all the same")


def check_static_go():
    """A static program of Go's own heap alone, as `go build` makes them without cgo."""
    program = hawk.compile_text(folder, "static_go", BUMP + PROGRAM, flags=(r'-DMARK="\377 "', "-static"))
    core, _ = hawk.crash([program], dict(os.environ), folder)
    done = hawk.run([hawk.CORE, "heap", core], env={**os.environ, "COLUMNS": "80"})
    hawk.expect_equal(done.returncode, hawk.EXIT_PARTIAL, "heap's exit code")
    hawk.expect("its allocator cannot be read\n  The tracer cannot be preloaded into a statically linked program.\n"
                in done.stdout and "hawk-core run" not in done.stdout, f"heap: {done.stdout}")
    hawk.expect("the heap of Go (static_go) is not read" in done.stderr, f"heap: {done.stderr}")


folder = hawk.temporary_folder()
check_libraries()
check_go()
check_static_go()
hawk.finish()
