/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The lifetime of a process, from its core's file and the clocks.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "test.h"
#include "target/core/file.h"
#include "hawk/heap/life.h"

#define SECOND UINT64_C(1000000000)
#define START  (UINT64_C(1700000000) * SECOND)

enum { UNITS = 16, CLOCK = 100 * UNITS };

static const struct hawk_table_header header = {
	.start_realtime_ns = START,
	.start_monotonic_ns = 5000 * SECOND,
	.clock_units = CLOCK,
};

static void expect(struct hawk_end_times times, enum hawk_life_end end, uint64_t end_seconds,
		   uint64_t latest_seconds)
{
	struct hawk_life life = hawk_life_find(&header, &times);

	assert_string_equal(hawk_life_end_name(life.end), hawk_life_end_name(end));
	assert_int_equal(life.clock_units, CLOCK);
	assert_int_equal(life.end_units, end_seconds * UNITS);
	assert_int_equal(life.latest_units, latest_seconds * UNITS);
}

static bool may_have_idled(uint64_t file_ns)
{
	struct hawk_life life =
		hawk_life_find(&header, &(struct hawk_end_times){.file_ns = file_ns});

	return hawk_life_may_have_idled(&life);
}

TEST(without_any_times_a_life_ends_with_its_last_allocation)
{
	expect((struct hawk_end_times){0}, HAWK_LIFE_CLOCK, 100, 0);
	assert_true(hawk_life_seconds(CLOCK) == 100.0);
}

TEST(a_living_process_lives_now)
{
	expect((struct hawk_end_times){.monotonic_ns = 5900 * SECOND}, HAWK_LIFE_NOW, 900, 0);
	expect((struct hawk_end_times){.realtime_ns = START + 800 * SECOND}, HAWK_LIFE_NOW, 800, 0);
	/* A clock of another machine, or one that ticks behind the tracer's. */
	expect((struct hawk_end_times){.monotonic_ns = 10 * SECOND}, HAWK_LIFE_NOW, 100, 0);
}

TEST(the_time_of_a_file_is_no_end)
{
	expect((struct hawk_end_times){.file_ns = START + 4000 * SECOND}, HAWK_LIFE_CLOCK, 100,
	       4000);
	expect((struct hawk_end_times){.file_ns = START + 100 * SECOND}, HAWK_LIFE_CLOCK, 100, 100);
	assert_false(may_have_idled(START + 104 * SECOND));
	assert_false(may_have_idled(START + 112 * SECOND));
	assert_true(may_have_idled(START + 113 * SECOND));
	/* Older than the tracer's last clock reading: the time or a clock was set. */
	expect((struct hawk_end_times){.file_ns = START + 90 * SECOND}, HAWK_LIFE_CLOCK, 100, 0);
	expect((struct hawk_end_times){.file_ns = 1}, HAWK_LIFE_CLOCK, 100, 0);
}

TEST(a_noted_time_of_death_is_its_end)
{
	struct hawk_end_times times = {
		.attribute_ns = START + 3000 * SECOND,
		.file_ns = START + 200 * SECOND, /* anybody can set it */
		.present_ns = START + 90000 * SECOND,
	};

	expect(times, HAWK_LIFE_ATTRIBUTE, 3000, 0);
	times.name_ns[1] = START + 3001 * SECOND;
	expect(times, HAWK_LIFE_ATTRIBUTE, 3000, 0);
	times.attribute_ns = START + 50 * SECOND; /* before the last allocation */
	expect(times, HAWK_LIFE_NAME, 3001, 0);
	times.name_ns[0] = START + 91000 * SECOND; /* in the future */
	times.name_ns[2] = START - 1000 * SECOND;
	expect(times, HAWK_LIFE_NAME, 3001, 0);
	times.name_ns[1] = 0;
	expect(times, HAWK_LIFE_CLOCK, 100, 200);
	/* Whole seconds are rounded down. */
	times.name_ns[0] = START + 99 * SECOND;
	expect(times, HAWK_LIFE_NAME, 100, 0);
}

TEST(a_start_before_the_clock_was_set_says_nothing)
{
	struct hawk_table_header early = header;
	struct hawk_end_times times = {.file_ns = START, .name_ns = {START}, .attribute_ns = START};
	struct hawk_life life;

	early.start_realtime_ns = 77 * SECOND;
	life = hawk_life_find(&early, &times);
	assert_true(life.end == HAWK_LIFE_CLOCK && life.end_units == CLOCK && !life.latest_units);
	early.start_realtime_ns = UINT64_MAX - 5;
	life = hawk_life_find(&early, &times);
	assert_true(life.end == HAWK_LIFE_CLOCK && life.end_units == CLOCK && !life.latest_units);
	early.clock_units = UINT64_MAX;
	life = hawk_life_find(&early, &times);
	assert_true(life.end == HAWK_LIFE_CLOCK && life.end_units == UINT64_MAX);
}

static void expect_names(const char *path, uint64_t first, uint64_t second)
{
	struct hawk_end_times times = {0};

	hawk_core_times_of_name(path, &times);
	assert_int_equal(times.name_ns[0], first);
	assert_int_equal(times.name_ns[1], second);
}

TEST(numbers_in_a_name_are_times_if_they_are_long_enough)
{
	expect_names("core", 0, 0);
	expect_names("/1700000000/core.4711", 0, 0);
	expect_names("/tmp/core.app.4711.1700000123", START + 123 * SECOND, 0);
	expect_names("1700000123-host-core", START + 123 * SECOND, 0);
	expect_names(
		"core.app.0.0123456789abcdef0123456789abcdef.77.1700000123000000.1700000001000",
		START + 123 * SECOND, START + SECOND);
	expect_names("core.20231115.170000012.17000001230", 0, 0);
	expect_names("core.0700000123", 0, 0);
	expect_names("1700000001.1700000002.1700000003.1700000004.1700000005", START + SECOND,
		     START + 2 * SECOND);
	expect_names("", 0, 0);
}

TEST(an_open_file_has_its_time_and_attribute)
{
	char path[] = "/tmp/hawk-life-1700000123-XXXXXX";
	const struct timespec file[2] = {{.tv_sec = 1700000500},
					 {.tv_sec = 1700000500, .tv_nsec = 7}};
	struct hawk_end_times times;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, file), 0);
	hawk_core_times(fd, path, &times);
	assert_int_equal(times.file_ns, START + 500 * SECOND + 7);
	assert_int_equal(times.name_ns[0], START + 123 * SECOND);
	assert_int_equal(times.attribute_ns, 0);
	assert_int_equal(times.monotonic_ns, 0);
	assert_true(times.present_ns > times.file_ns);
	/* Not every file system has attributes of users. */
	if (!fsetxattr(fd, "user.coredump.timestamp", "1700000200", 10, 0)) {
		hawk_core_times(fd, path, &times);
		assert_int_equal(times.attribute_ns, START + 200 * SECOND);
		assert_int_equal(
			fsetxattr(fd, "user.coredump.timestamp", "1700000200000000", 16, 0), 0);
		hawk_core_times(fd, path, &times);
		assert_int_equal(times.attribute_ns, START + 200 * SECOND);
		assert_int_equal(fsetxattr(fd, "user.coredump.timestamp", "17000x0200", 10, 0), 0);
		hawk_core_times(fd, path, &times);
		assert_int_equal(times.attribute_ns, 0);
	}
	close(fd);
	unlink(path);
}
