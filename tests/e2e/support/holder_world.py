# SPDX-License-Identifier: Apache-2.0
"""A program whose blocks hold each other in known ways, for the verbs that follow pointers."""


from support import hawk

SOURCE = r"""
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <unistd.h>

#define KEEP __attribute__((noinline))

struct Session {
	virtual ~Session() {}
	long id;
	char buffer[88];
	explicit Session(long number) : id(number) {}
};
struct Connection : Session {
	char *name;
	explicit Connection(long number);
};
struct Cell {
	Cell *next;
	char *payload;
	long number;
	long filler;
};
struct Hub { // everything behind it is kept alive by it alone
	Cell *first;
	long count;
};

extern "C" KEEP char *make_name(void) { return static_cast<char *>(malloc(61)); }
extern "C" KEEP char *make_payload(void) { return static_cast<char *>(malloc(40)); }
extern "C" KEEP Cell *make_cell(void) { return static_cast<Cell *>(calloc(1, sizeof(Cell))); }
extern "C" KEEP Hub *make_hub(void) { return static_cast<Hub *>(calloc(1, sizeof(Hub))); }
extern "C" KEEP void **make_lost(void) { return static_cast<void **>(calloc(4, 8)); }
extern "C" KEEP char *make_shared(void) { return static_cast<char *>(malloc(5000)); }

Connection::Connection(long number) : Session(number), name(make_name()) { name[0] = 'n'; }

extern "C" KEEP Session *make_session(long number)
{
	return number % 2 ? new Connection(number) : new Session(number);
}

std::map<long, std::unique_ptr<Session>> g_sessions;
std::list<Session *> g_index;
Hub *g_hub;
char *g_shared[2];
thread_local char *volatile t_private;

static char *volatile in_thread;

static void *sleep_for_good(void *)
{
	t_private = static_cast<char *>(malloc(777));
	in_thread = t_private;
	for (;;)
		pause();
	return t_private;
}

static KEEP void fill(int sessions, int cells)
{
	for (int i = 0; i < sessions; i++) {
		Session *session = make_session(i);
		g_index.push_back(session);
		g_sessions.emplace(i, session);
	}
	g_hub = make_hub();
	g_hub->count = cells;
	for (int i = 0; i < cells; i++) {
		Cell *cell = make_cell();
		cell->payload = make_payload();
		cell->number = i;
		cell->next = g_hub->first;
		g_hub->first = cell;
	}
	g_shared[0] = g_shared[1] = make_shared();
}

static KEEP void lose(void)
{
	for (int i = 0; i < 5; i++) { // cycles of two
		void **one = make_lost(), **other = make_lost();
		one[1] = other;
		other[2] = one;
	}
}

static KEEP void wipe_stack(void)
{
	volatile char *bytes = static_cast<char *>(alloca(20000));
	for (int i = 0; i < 20000; i++)
		bytes[i] = 0;
}

static KEEP void report(void)
{
	Cell *third = g_hub->first->next->next;
	Connection *odd = static_cast<Connection *>(g_sessions[1].get());
	printf("{\"hub\":%lu,\"first\":%lu,\"third\":%lu,\"third_payload\":%lu,\"session\":%lu,"
	       "\"name\":%lu,\"shared\":%lu,\"private\":%lu,\"g_hub\":%lu,\"pid\":%d}\n",
	       (long)g_hub, (long)g_hub->first, (long)third, (long)third->payload, (long)odd,
	       (long)odd->name, (long)g_shared[0], (long)in_thread, (long)&g_hub, getpid());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	fill(argc > 2 ? atoi(argv[2]) : 1000, argc > 3 ? atoi(argv[3]) : 3000);
	lose();
	pthread_create(&thread, nullptr, sleep_for_good, nullptr);
	while (!in_thread)
		usleep(1000);
	report();
	wipe_stack();
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	for (;;)
		pause();
}
"""

SESSIONS = 1000
CELLS = 3000
LOST = 10


def build(folder, name="holders", flags=()):
    return hawk.compile_text(folder, name, SOURCE, "g++", ["-O1", *flags])


def crash(folder, environment=None):
    """(core, what the program said: addresses by name)"""
    core, done = hawk.crash([build(folder), "abort", str(SESSIONS), str(CELLS)],
                            environment or hawk.tracer_environment(), folder)
    return core, hawk.parse(done.stdout)
