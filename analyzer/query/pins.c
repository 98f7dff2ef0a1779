/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The table of pins: which sites' blocks keep free memory from being given back.
 */
#include "state.h"

/** Returns the number of pins. The planner asks before they are found. */
static uint64_t pin_rows(const struct hawk_sql *sql)
{
	return sql->has_fragmentation ? sql->fragmentation.pin_count : sql->source.heap->site_count;
}

/** Finds the pins. A saved database has none where no allocator's structures are known. */
static struct hawk_error *find_pins(struct hawk_sql *sql)
{
	struct hawk_error *err;

	if (sql->has_fragmentation)
		return NULL;
	err = sql->source.fragmentation(sql->source.context, &sql->fragmentation);
	if (err && sql->is_saved && hawk_error_code(err) == HAWK_ERROR_UNSUPPORTED) {
		hawk_error_destroy(err);
		err = NULL;
	}
	sql->has_fragmentation = !err;
	return err;
}

static struct hawk_error *get_pin(struct sql_cursor *cursor, uint64_t row, int column,
				  struct sql_value *ret)
{
	const struct hawk_heap *heap = cursor->sql->source.heap;
	const struct hawk_pin *pin = &cursor->sql->fragmentation.pins[row];
	const struct sql_value age = {.kind = SQL_REAL,
				      .real = hawk_heap_age_seconds(heap, pin->birth_units)};
	const struct sql_value values[] = {
		pin->site < heap->site_count ? sql_site(pin->site) : (struct sql_value){0},
		sql_integer(pin->is_cached),
		sql_integer(pin->objects),
		sql_integer(pin->bytes),
		sql_integer(pin->units),
		sql_integer(pin->returns_bytes),
		sql_integer(pin->shared_bytes),
		sql_integer_if(pin->example, pin->example),
		pin->has_birth ? age : (struct sql_value){0},
	};

	*ret = values[column];
	return NULL;
}

const struct sql_table hawk_sql_pins = {
	.name = "pins",
	.schema = "CREATE TABLE pins(site TEXT, cached INTEGER, objects INTEGER, bytes INTEGER, "
		  "units INTEGER, returns_bytes INTEGER, shared_bytes INTEGER, example INTEGER, "
		  "age REAL)",
	.rows = pin_rows,
	.prepare = find_pins,
	.column = get_pin,
};
