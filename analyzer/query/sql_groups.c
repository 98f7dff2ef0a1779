/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of groups of blocks, which no user is told of: sql_sums.h has statements ask it instead
 * of blocks. And the functions that count a group as the blocks that it stands for.
 *
 * Rows are in the order of their first blocks, so that what comes first among blocks does here.
 */
#include <stdlib.h>

#include "hawk_report.h"
#include "sql_groups.h"

enum column {
	GROUP_SIZE,
	GROUP_SITE,
	GROUP_KIND,
	GROUP_AGE,
	GROUP_REACH,
	GROUP_TYPE,
	GROUP_N,
	GROUP_SIZE_SUM,
	GROUP_SIZE_TOTAL,
	GROUP_SIZE_MIN,
	GROUP_SIZE_MAX,
	GROUP_RETAINED_SUM,
	GROUP_RETAINED_TOTAL,
	GROUP_RETAINED_MIN,
	GROUP_RETAINED_MAX,
	GROUP_ADDRESS_MIN,
	GROUP_ADDRESS_MAX,
	GROUP_COLUMNS,
};

/* Of floating-point numbers all sums below it are exact, in any order. */
static const uint64_t EXACT_MAX = UINT64_C(1) << 53;

static const unsigned parts_of[GROUP_COLUMNS] = {
	[GROUP_SIZE] = SQL_GROUP_BY_SIZE,          [GROUP_SITE] = SQL_GROUP_BY_SITE,
	[GROUP_KIND] = SQL_GROUP_BY_KIND,          [GROUP_AGE] = SQL_GROUP_BY_BIRTH,
	[GROUP_REACH] = SQL_GROUP_BY_REACH,        [GROUP_TYPE] = SQL_GROUP_BY_TYPE,
	[GROUP_SIZE_SUM] = SQL_GROUP_SIZES,        [GROUP_SIZE_TOTAL] = SQL_GROUP_SIZES,
	[GROUP_SIZE_MIN] = SQL_GROUP_SIZES,        [GROUP_SIZE_MAX] = SQL_GROUP_SIZES,
	[GROUP_RETAINED_SUM] = SQL_GROUP_RETAINED, [GROUP_RETAINED_TOTAL] = SQL_GROUP_RETAINED,
	[GROUP_RETAINED_MIN] = SQL_GROUP_RETAINED, [GROUP_RETAINED_MAX] = SQL_GROUP_RETAINED,
};

static bool has_column(uint64_t columns, enum column column)
{
	return columns >> column & 1;
}

static unsigned parts_for(uint64_t columns)
{
	unsigned parts = 0;

	for (unsigned i = 0; i < GROUP_COLUMNS; i++)
		if (columns >> i & 1)
			parts |= parts_of[i];
	return parts;
}

static unsigned needs(uint64_t columns)
{
	unsigned parts = parts_for(columns);

	return HAWK_PART_INDEX | (parts & SQL_GROUP_BY_REACH ? HAWK_PART_REACH : 0) |
	       (parts & SQL_GROUP_RETAINED ? HAWK_PART_RETAINED : 0);
}

/* A few, or a few thousand: sites are looked up for them, and not they for sites. */
static uint64_t rows(const struct hawk_sql *sql)
{
	(void)sql;
	return 1000;
}

/** Whether floating-point sums are the same as those of the blocks one by one. */
static bool is_exact(const struct sql_group_list *groups)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < groups->count; i++)
		if (groups->items[i].retained.sum >= EXACT_MAX - sum)
			return false;
		else
			sum += groups->items[i].retained.sum;
	return true;
}

static struct hawk_error *seek(struct sql_cursor *cursor, const struct sql_wish *wishes)
{
	struct hawk_sql *sql = cursor->sql;
	unsigned parts = parts_for(cursor->columns);
	struct hawk_error *err = NULL;

	(void)wishes;
	if (!sql->has_groups || sql->group_parts != parts) {
		hawk_sql_drop_groups(sql);
		err = hawk_sql_fold_groups(sql->source.graph, parts, &sql->groups);
		sql->has_groups = !err;
		sql->group_parts = parts;
	}
	if (!err &&
	    (sql->groups.is_too_much ||
	     (has_column(cursor->columns, GROUP_RETAINED_TOTAL) && !is_exact(&sql->groups))))
		err = hawk_error_create(HAWK_ERROR_UNSUPPORTED, "blocks are too many in groups");
	if (!err)
		hawk_sql_seek_all(cursor, sql->groups.count);
	return err;
}

void hawk_sql_drop_groups(struct hawk_sql *sql)
{
	free(sql->groups.items);
	sql->groups = (struct sql_group_list){0};
	sql->has_groups = false;
}

static void put_number(sqlite3_context *context, uint64_t number)
{
	sqlite3_result_int64(context, (int64_t)number);
}

static void put_range(sqlite3_context *context, const struct sql_range *range, unsigned which)
{
	const uint64_t numbers[] = {range->sum, range->sum, range->low, range->high};

	put_number(context, numbers[which]);
}

static struct hawk_error *put_column(struct sql_cursor *cursor, uint64_t row, int number,
				     sqlite3_context *context)
{
	const struct hawk_sql_source *source = &cursor->sql->source;
	const struct sql_group *group = &cursor->sql->groups.items[row];
	enum column column = (enum column)number;

	if (column == GROUP_SIZE)
		put_number(context, group->size);
	else if (column == GROUP_SITE)
		hawk_sql_result_site(cursor->sql, group->site, context);
	else if (column == GROUP_KIND && group->is_known)
		hawk_sql_result_constant(context, hawk_report_kind_name(group->kind));
	else if (column == GROUP_AGE && group->is_known)
		sqlite3_result_double(
			context,
			hawk_heap_age_seconds(source->heap, hawk_birth_decode(group->birth)));
	else if (column == GROUP_REACH)
		hawk_sql_result_constant(context, hawk_sql_reach_name(group->reach));
	else if (column == GROUP_TYPE)
		return hawk_sql_result_type(cursor->sql, group->first, context);
	else if (column == GROUP_N)
		put_number(context, group->count);
	else if (column >= GROUP_SIZE_SUM && column <= GROUP_SIZE_MAX)
		put_range(context, &group->sizes, column - GROUP_SIZE_SUM);
	else if (column >= GROUP_RETAINED_SUM && column <= GROUP_RETAINED_MAX)
		put_range(context, &group->retained, column - GROUP_RETAINED_SUM);
	else if (column == GROUP_ADDRESS_MIN || column == GROUP_ADDRESS_MAX)
		put_number(context, hawk_block_start(&source->graph->index,
						     column == GROUP_ADDRESS_MIN ? group->first
										 : group->last));
	return NULL;
}

const struct sql_table hawk_sql_groups = {
	.name = "block_groups",
	.schema = "CREATE TABLE block_groups(size INTEGER, site TEXT, kind TEXT, age REAL, "
		  "reach TEXT, type TEXT, \"#n\" INTEGER, \"#size_sum\" INTEGER, \"#size_total\" "
		  "INTEGER, "
		  "\"#size_min\" INTEGER, \"#size_max\" INTEGER, \"#retained_sum\" INTEGER, "
		  "\"#retained_total\" INTEGER, \"#retained_min\" INTEGER, "
		  "\"#retained_max\" INTEGER, \"#address_min\" INTEGER, "
		  "\"#address_max\" INTEGER)",
	.needs = needs,
	.rows = rows,
	.seek = seek,
	.column = put_column,
};

/** Of one group of rows, while SQLite adds up. Zeros at first. */
struct sum {
	int64_t value;
	int64_t magnitude; /**< of what was added, whatever the sign */
	int64_t count;
	bool failed;
};

/** hawk_count(x, n): n times count(x). */
static void step_count(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));

	(void)count;
	if (sum && sqlite3_value_type(values[0]) != SQLITE_NULL)
		sum->count += sqlite3_value_int64(values[1]);
}

static void end_count(sqlite3_context *context)
{
	const struct sum *sum = sqlite3_aggregate_context(context, 0);

	sqlite3_result_int64(context, sum ? sum->count : 0);
}

/** hawk_sum(x, n): n times sum(x), if x is an integer and no sum of some of them is too large,
 * whatever the order: otherwise an error. */
static void step_sum(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));
	int type = sqlite3_value_numeric_type(values[0]);
	int64_t product, magnitude;

	(void)count;
	if (!sum || type == SQLITE_NULL)
		return;
	if (type != SQLITE_INTEGER ||
	    __builtin_mul_overflow(sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]),
				   &product) ||
	    __builtin_sub_overflow(0, product, &magnitude) ||
	    __builtin_add_overflow(sum->magnitude, product < 0 ? magnitude : product,
				   &sum->magnitude)) {
		sum->failed = true;
		sqlite3_result_error(context, "not a sum of integers", -1);
		return;
	}
	sum->value += product;
	sum->count++;
}

static void end_sum(sqlite3_context *context)
{
	const struct sum *sum = sqlite3_aggregate_context(context, 0);

	if (sum && sum->count && !sum->failed)
		sqlite3_result_int64(context, sum->value);
}

/** hawk_mean(sum, n): of sums that are exact. */
static void step_mean(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));

	(void)count;
	if (!sum)
		return;
	sum->value += sqlite3_value_int64(values[0]);
	sum->count += sqlite3_value_int64(values[1]);
}

static void end_mean(sqlite3_context *context)
{
	const struct sum *sum = sqlite3_aggregate_context(context, 0);

	if (sum && sum->count)
		sqlite3_result_double(context, (double)sum->value / (double)sum->count);
}

bool hawk_sql_register_groups(struct hawk_sql *sql)
{
	static const struct {
		const char *name;
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*end)(sqlite3_context *);
	} functions[] = {
		{"hawk_count", step_count, end_count},
		{"hawk_sum", step_sum, end_sum},
		{"hawk_mean", step_mean, end_mean},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (sqlite3_create_function(sql->database, functions[i].name, 2, SQLITE_UTF8, NULL,
					    NULL, functions[i].step, functions[i].end) != SQLITE_OK)
			return false;
	return hawk_sql_register(sql, &hawk_sql_groups);
}
