/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Draws the bar.
 */
#include "bar.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "hawk/base/progress.h"
#include "hawk/base/quantity.h"
#include "hawk/base/numbers.h"

enum {
	WIDTH = 20,
	LINE_BYTES = 128,
	COLUMNS = 80, /**< if the terminal does not report its width */
};

static const uint64_t SECOND_NS = 1000000000;
static const uint64_t FIRST_NS = 1000000000;
static const uint64_t NEXT_NS = 100000000;

/** Signals that end the program; its line is cleared first. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP};

enum { ENDINGS = sizeof(endings) / sizeof(endings[0]) };

/* Writes to the terminal; a failure cannot be reported. */
static void put(const char *bytes, size_t size)
{
	ssize_t written = write(STDERR_FILENO, bytes, size);

	(void)written;
}

static volatile sig_atomic_t is_drawn;

static void wipe(void)
{
	put("\r\033[K", 4);
}

void hawk_bar_give_up(void)
{
	if (is_drawn)
		wipe();
}

/* Clears the bar; the default action follows when this function returns. */
static void on_ending(int number)
{
	hawk_bar_give_up();
	raise(number);
}

/* Catches the signals that have no other handler. */
static void catch_endings(void)
{
	struct sigaction ours = {.sa_handler = on_ending, .sa_flags = SA_RESTART | SA_RESETHAND};
	struct sigaction now;

	for (size_t i = 0; i < ENDINGS; i++)
		if (sigaction(endings[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(endings[i], &ours, NULL);
}

static size_t columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS;
}

/* Returns true if a pager owns the terminal: once it shows text it reads single keys. */
static bool is_somebody_elses(const struct hawk_bar *bar)
{
	struct termios state;

	return bar->output_begun && tcgetattr(STDERR_FILENO, &state) == 0 &&
	       !(state.c_lflag & ICANON);
}

/* Returns true if the bar is due. */
static bool is_due(struct hawk_bar *bar)
{
	uint64_t now;

	if (!bar->wanted || bar->within_line)
		return false;
	now = hawk_now_ns(CLOCK_MONOTONIC);
	if (now - bar->start_ns < FIRST_NS || now - bar->drawn_ns < NEXT_NS ||
	    is_somebody_elses(bar))
		return false;
	bar->drawn_ns = now;
	return true;
}

/* Formats the line. With no known total, shows the elapsed time. */
static size_t format(const struct hawk_bar *bar, const char *stage, uint64_t done, uint64_t all,
		     bool in_bytes, char line[LINE_BYTES])
{
	static const char full[WIDTH + 1] = "####################";
	double share = all ? (double)(done < all ? done : all) / (double)all : 0;
	int filled = (int)(share * WIDTH);
	int size;

	if (!all)
		size = snprintf(line, LINE_BYTES, "%s ... %llu s ", stage,
				(unsigned long long)((bar->drawn_ns - bar->start_ns) / SECOND_NS));
	else
		size = snprintf(line, LINE_BYTES, "%s [%.*s%*s] %3d %%%s%s ", stage, filled, full,
				WIDTH - filled, "", (int)(100 * share), in_bytes ? " of " : "",
				in_bytes ? hawk_quantity_bytes(all).text : "");
	return size < LINE_BYTES ? (size_t)size : LINE_BYTES - 1;
}

/* Draws the line, cut to the terminal: the rest of a wrapped line could not be cleared. */
static void draw(struct hawk_bar *bar, const char *stage, uint64_t done, uint64_t all,
		 bool in_bytes)
{
	char line[LINE_BYTES];
	char text[LINE_BYTES + 8];
	size_t size = format(bar, stage, done, all, in_bytes, line);
	size_t room = columns() - 1;

	catch_endings();
	bar->shown = true;
	is_drawn = 1;
	if (size > room)
		size = room;
	put(text, (size_t)snprintf(text, sizeof(text), "\r%.*s\033[K", (int)size, line));
}

static void tell(void *context, const struct hawk_progress *progress)
{
	struct hawk_bar *bar = context;

	if (is_due(bar))
		draw(bar, progress->stage, hawk_progress_done(progress), progress->all,
		     progress->in_bytes);
}

void hawk_bar_begin(struct hawk_bar *bar, bool quiet)
{
	hawk_bar_clear(bar);
	*bar = (struct hawk_bar){
		.listener = {tell, bar},
		.wanted = !quiet && isatty(STDERR_FILENO),
		.start_ns = hawk_now_ns(CLOCK_MONOTONIC),
	};
	if (bar->wanted) // else a caller may listen, as the MCP server does
		hawk_progress_listen(&bar->listener);
}

void hawk_bar_clear(struct hawk_bar *bar)
{
	if (!bar->shown)
		return;
	wipe();
	bar->shown = false;
	is_drawn = 0;
}

void hawk_bar_before_output(struct hawk_bar *bar, int fd, const char *bytes, size_t size)
{
	hawk_bar_clear(bar);
	bar->output_begun = true;
	if (bar->wanted && size)
		bar->within_line = bytes[size - 1] != '\n' && isatty(fd);
}

void hawk_bar_deinit(struct hawk_bar *bar)
{
	hawk_bar_clear(bar);
	if (bar->wanted)
		hawk_progress_listen(NULL);
	bar->wanted = false;
}
