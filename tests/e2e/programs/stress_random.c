/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Everything at once: threads that come and go and call every function of the malloc family at
 * random, signal handlers, forked children, plug-ins that are loaded and unloaded.
 *
 *     stress_random SHADOW THREADS SECONDS SEED FORKS PLUGIN_FOLDER end|abort
 *
 * The file SHADOW says at every instant what is alive; see stress_shadow.h. Any content that is not
 * what was written there ends the program with exit code 3.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "paths.h"
#include "random.h"
#include "stress_shadow.h"

enum {
	THREADS_MAX = 128,
	ENTRIES_PER_THREAD = 400,
	HANDLER_ENTRIES = 4,
	LOADERS = 3,
	PLUGIN_ENTRIES = 200,
	LIFE_STEPS = 3000,
	CHOICES = 13, /**< of stress_call */
};

/* What an allocator has of its own; NULL without it. */
extern void *mallocx(size_t size, int flags) __attribute__((weak));
extern void *rallocx(void *pointer, size_t size, int flags) __attribute__((weak));
extern void dallocx(void *pointer, int flags) __attribute__((weak));
extern void *tc_new(size_t size) __attribute__((weak));
extern void *tc_realloc(void *pointer, size_t size) __attribute__((weak));
extern void tc_delete(void *pointer) __attribute__((weak));
extern void *mi_malloc_aligned(size_t size, size_t alignment) __attribute__((weak));
extern void *mi_realloc(void *pointer, size_t size) __attribute__((weak));
extern void mi_free(void *pointer) __attribute__((weak));

struct worker {
	pthread_t thread;
	atomic_int tid;
	uint64_t random;
	struct stress_entry *entries; /**< ENTRIES_PER_THREAD, then HANDLER_ENTRIES */
};

static struct worker workers[THREADS_MAX];
static unsigned worker_count;
static const char *plugin_folder;
static atomic_bool stopping;

/** A handler may allocate only where its thread is not inside of the allocator. */
static __thread volatile sig_atomic_t inside;
static __thread struct worker *volatile self;

static void fail(const char *what, const void *pointer)
{
	char text[200];
	int length = snprintf(text, sizeof(text), "stress_random: %s at %p\n", what, pointer);

	if (write(2, text, (size_t)length) < 0)
		_exit(4);
	_exit(3);
}

static uint8_t byte_of(const struct stress_entry *entry, uint64_t at)
{
	return (uint8_t)((entry->salt + at) * 131);
}

static void fill(struct stress_entry *entry, uint64_t from)
{
	uint8_t *bytes = (uint8_t *)entry->address;

	for (uint64_t i = from; i < entry->size; i++)
		bytes[i] = byte_of(entry, i);
}

static void check(const struct stress_entry *entry, uint64_t size)
{
	const uint8_t *bytes = (const uint8_t *)entry->address;

	for (uint64_t i = 0; i < size; i++)
		if (bytes[i] != byte_of(entry, i))
			fail("a block's content has changed", bytes + i);
}

static size_t random_size(uint64_t *random)
{
	uint64_t value = next_random(random);

	if (value % 1000 == 0)
		return (value >> 20) % 300000; /* its own mapping, with some allocators */
	if (value % 10 == 0)
		return (value >> 20) % 8000;
	return (value >> 20) % 200;
}

static unsigned function_of(uint64_t choice)
{
	return (choice & 0xff) % CHOICES;
}

/** By a function of the allocator's own, if it has one. */
static void *own_call(size_t alignment, size_t size)
{
	if (mallocx && size) /* 0 is not allowed there */
		return mallocx(size, __builtin_ctzll(alignment));
	if (mi_malloc_aligned)
		return mi_malloc_aligned(size, alignment);
	return tc_new ? tc_new(size) : malloc(size);
}

static void *own_resize(void *pointer, size_t size)
{
	if (rallocx)
		return rallocx(pointer, size, 0);
	if (mi_realloc)
		return mi_realloc(pointer, size);
	return tc_realloc ? tc_realloc(pointer, size) : realloc(pointer, size);
}

static void own_free(void *pointer)
{
	if (dallocx)
		dallocx(pointer, 0);
	else if (mi_free)
		mi_free(pointer);
	else if (tc_delete)
		tc_delete(pointer);
	else
		free(pointer);
}

static void *stress_call(uint64_t choice, size_t size)
{
	void *pointer = NULL;
	size_t alignment = (size_t)16 << (choice >> 8 & 0xff) % 10;

	switch (function_of(choice)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return malloc(size);
	case 4:
	case 5:
		pointer = calloc(1 + size / 8, 8);
		for (size_t i = 0; pointer && i < size; i++)
			if (((char *)pointer)[i])
				fail("calloc gave dirty memory", pointer);
		return pointer;
	case 6:
		return realloc(NULL, size);
	case 7:
		return aligned_alloc(alignment, size);
	case 8:
		return posix_memalign(&pointer, alignment, size) ? NULL : pointer;
	case 9:
		return memalign(alignment, size);
	default:
		return own_call(alignment, size);
	}
}

/** A call to make at the end of a path, and what it gave. */
struct request {
	uint64_t choice;
	size_t size;
	void *pointer;
};

static void stress_answer(void *data)
{
	struct request *request = data;

	request->pointer = stress_call(request->choice, request->size);
}

static void stress_allocate(struct stress_entry *entry, uint64_t choice, size_t size)
{
	struct request request = {.choice = choice, .size = size};
	void *pointer;

	/* calloc counts in eights */
	entry->size = function_of(choice) / 2 == 2 ? (1 + size / 8) * 8 : size;
	entry->label = 0;
	stress_set(entry, STRESS_ALLOCATING);
	inside = 1;
	call_by_path((unsigned)(choice >> 20), choice >> 16 & 15, stress_answer, &request);
	inside = 0;
	pointer = request.pointer;
	if (!pointer)
		fail("no memory", NULL);
	if ((uint64_t)pointer & 15)
		fail("badly aligned", pointer);
	entry->address = (uint64_t)pointer;
	entry->salt = choice >> 40;
	stress_set(entry, STRESS_LIVE);
	fill(entry, 0);
	if (malloc_usable_size(pointer) < entry->size)
		fail("too small", pointer);
}

static void stress_free(struct stress_entry *entry)
{
	check(entry, entry->size);
	stress_set(entry, STRESS_FREEING);
	inside = 1;
	if (entry->salt % 4)
		free((void *)entry->address);
	else
		own_free((void *)entry->address);
	inside = 0;
	stress_set(entry, STRESS_EMPTY);
}

static __attribute__((noinline)) void stress_resize(struct stress_entry *entry, size_t size)
{
	uint64_t kept = entry->size < size ? entry->size : size;
	void *pointer;

	entry->new_size = size;
	stress_set(entry, STRESS_RESIZING);
	inside = 1;
	if (entry->salt % 4)
		pointer = realloc((void *)entry->address, size);
	else
		pointer = own_resize((void *)entry->address, size);
	inside = 0;
	if (!pointer)
		fail("no memory", NULL);
	entry->address = (uint64_t)pointer;
	entry->size = size;
	stress_set(entry, STRESS_LIVE);
	check(entry, kept);
	fill(entry, kept);
}

static void step(struct worker *worker)
{
	uint64_t choice = next_random(&worker->random);
	struct stress_entry *entry = &worker->entries[choice % ENTRIES_PER_THREAD];

	choice >>= 10;
	if (entry->state == STRESS_EMPTY)
		stress_allocate(entry, choice, random_size(&worker->random));
	else if (choice % 4 == 0)
		stress_resize(entry, 1 + random_size(&worker->random));
	else
		stress_free(entry);
}

static void on_signal(int number)
{
	struct worker *worker = self;
	struct stress_entry *entry;

	(void)number;
	if (inside || !worker)
		return;
	for (int i = 0; i < HANDLER_ENTRIES; i++) {
		entry = &worker->entries[ENTRIES_PER_THREAD + i];
		if (entry->state == STRESS_LIVE)
			stress_free(entry);
		stress_allocate(entry, next_random(&worker->random), 100 + (size_t)i);
	}
}

static pthread_key_t late_key;

/** Runs in the last rounds of a thread's destructors. */
static void allocate_late(void *data)
{
	inside = 1;
	free(malloc(40));
	inside = 0;
	if (data != (void *)4)
		pthread_setspecific(late_key, (char *)data + 1);
}

static void *work(void *data)
{
	struct worker *worker = data;

	self = worker;
	worker->tid = gettid();
	if (worker->random % 3 == 0)
		pthread_setspecific(late_key, (void *)1);
	for (int i = 0; i < LIFE_STEPS && !stopping; i++)
		step(worker);
	self = NULL;
	return NULL;
}

/** Lets every worker die and rise again, one after the other. */
static void *keep_working(void *data)
{
	size_t stack_bytes = 64 << 10;
	pthread_attr_t attributes;

	(void)data;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	for (unsigned i = 0; i < worker_count; i++)
		if (pthread_create(&workers[i].thread, &attributes, work, &workers[i]))
			fail("no thread", NULL);
	for (unsigned i = 0; !stopping; i = (i + 1) % worker_count) {
		pthread_join(workers[i].thread, NULL);
		if (pthread_create(&workers[i].thread, &attributes, work, &workers[i]))
			fail("no thread", NULL);
	}
	for (unsigned i = 0; i < worker_count; i++)
		pthread_join(workers[i].thread, NULL);
	return NULL;
}

/** Two plug-ins in turn, often at the same address. Their blocks outlive them. */
static void *load_plugins(void *data)
{
	struct stress_entry *entries = data;

	for (unsigned i = 0; !stopping; i++) {
		struct stress_entry *entry = &entries[i % PLUGIN_ENTRIES];
		void *(*make)(size_t) = NULL;
		void *library;
		char path[4096];

		snprintf(path, sizeof(path), "%s/stress_%s.so", plugin_folder,
			 i % 2 ? "red" : "blue");
		library = dlopen(path, RTLD_NOW);
		if (library)
			*(void **)&make = dlsym(library, "stress_make");
		if (!make)
			fail(dlerror(), NULL);
		if (entry->state == STRESS_LIVE)
			stress_free(entry);
		entry->size = 500 + i % 100;
		entry->label = 1 + i % 2;
		stress_set(entry, STRESS_ALLOCATING);
		entry->address = (uint64_t)make(entry->size);
		entry->salt = i;
		stress_set(entry, STRESS_LIVE);
		fill(entry, 0);
		dlclose(library);
		usleep(500);
	}
	return NULL;
}

/** In a child there is one thread; what its parent's other threads hold lies there as it was. */
static void live_in_child(unsigned seed)
{
	struct stress_entry entries[50] = {0};
	uint64_t random = seed + 1;

	alarm(100);
	for (int i = 0; i < 5000; i++) {
		struct stress_entry *entry = &entries[next_random(&random) % 50];

		if (entry->state == STRESS_LIVE)
			stress_free(entry);
		else
			stress_allocate(entry, next_random(&random), random_size(&random));
	}
	_exit(0);
}

static void fork_children(unsigned forks)
{
	for (unsigned i = 0; i < forks && !stopping; i++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid)
			live_in_child(i);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fail("a child did not end well", (void *)(uintptr_t)status);
	}
}

static void torment(unsigned seconds, uint64_t random, unsigned forks)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		/* to a thread that may be gone */
		syscall(SYS_tgkill, getpid(), workers[next_random(&random) % worker_count].tid,
			SIGUSR1);
		usleep((useconds_t)(next_random(&random) % 300));
		if (forks && next_random(&random) % 200 == 0)
			fork_children(1);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < (time_t)seconds);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct stress_entry *shadow;
	pthread_t keeper, loaders[LOADERS];
	uint64_t seed;
	unsigned each = ENTRIES_PER_THREAD + HANDLER_ENTRIES;

	if (argc < 8)
		return 2;
	worker_count = (unsigned)atoi(argv[2]);
	seed = strtoull(argv[4], NULL, 0) * 0x9e3779b97f4a7c15 + 1;
	plugin_folder = argv[6];
	if (worker_count > THREADS_MAX)
		return 2;
	shadow = stress_map(argv[1], (size_t)worker_count * each + LOADERS * PLUGIN_ENTRIES);
	if (!shadow)
		return 2;
	for (unsigned i = 0; i < worker_count; i++) {
		workers[i].entries = shadow + (size_t)i * each;
		workers[i].random = next_random(&seed);
	}
	pthread_key_create(&late_key, allocate_late);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&keeper, NULL, keep_working, NULL);
	for (size_t i = 0; i < LOADERS; i++)
		pthread_create(&loaders[i], NULL, load_plugins,
			       shadow + worker_count * (size_t)each + i * PLUGIN_ENTRIES);
	torment((unsigned)atoi(argv[3]), seed, (unsigned)atoi(argv[5]));
	if (!strcmp(argv[7], "abort"))
		abort();
	stopping = true;
	pthread_join(keeper, NULL);
	for (size_t i = 0; i < LOADERS; i++)
		pthread_join(loaders[i], NULL);
	for (unsigned i = 0; i < worker_count * each + LOADERS * PLUGIN_ENTRIES; i++)
		if (shadow[i].state == STRESS_LIVE)
			check(&shadow[i], shadow[i].size);
	puts("done");
	return 0;
}
