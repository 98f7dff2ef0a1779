/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Which statements are asked of groups of blocks, in which words; and which are not, because the
 * answer would be another one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hawk_text.h"
#include "sql_sums.h"

static bool rewrite(const char *text, struct hawk_text *ret)
{
	hawk_text_clear(ret);
	return hawk_sql_sums_rewrite(text, text + strlen(text), ret);
}

static void sums_are_asked_of_groups(void **state)
{
	static const char *const pairs[][2] = {
		{"SELECT count(*) FROM blocks",
		 "SELECT hawk_count(1, blocks.\"#n\") FROM block_groups AS blocks"},
		{"select kind, COUNT(*), sum( size ) n from blocks group by 1;",
		 "select kind, hawk_count(1, blocks.\"#n\"), sum(blocks.\"#size_sum\") n from "
		 "block_groups AS blocks group by 1;"},
		{"SELECT b.kind, avg(b.size), total(size), max(address) FROM blocks AS b "
		 "WHERE size > 8 GROUP BY kind",
		 "SELECT b.kind, hawk_mean(b.\"#size_total\", b.\"#n\"), "
		 "total(b.\"#size_total\"), max(b.\"#address_max\") FROM block_groups AS b "
		 "WHERE size > 8 GROUP BY kind"},
		{"SELECT count(size), sum(size > 9), min(size+1), count(DISTINCT site) FROM blocks",
		 "SELECT hawk_count(size, blocks.\"#n\"), hawk_sum(size > 9, blocks.\"#n\"), "
		 "min(size+1), count(DISTINCT site) FROM block_groups AS blocks"},
		{"SELECT size/64 AS k, count(*) FROM blocks GROUP BY k "
		 "HAVING sum(retained) > 7 ORDER BY max(size) DESC, 1 LIMIT 5",
		 "SELECT size/64 AS k, hawk_count(1, blocks.\"#n\") FROM block_groups AS blocks "
		 "GROUP BY k HAVING sum(blocks.\"#retained_sum\") > 7 "
		 "ORDER BY max(blocks.\"#size_max\") DESC, 1 LIMIT 5"},
		{"SELECT count(*) FILTER (WHERE size > 9) FROM blocks",
		 "SELECT hawk_count(1, blocks.\"#n\") FILTER (WHERE size > 9) FROM "
		 "block_groups AS blocks"},
		{"SELECT s.function, count(*) FROM blocks b JOIN sites s USING (site) "
		 "GROUP BY s.function",
		 "SELECT s.function, hawk_count(1, b.\"#n\") FROM block_groups AS b JOIN sites s "
		 "USING (site) GROUP BY s.function"},
		{"SELECT count(*) FROM blocks WHERE site IN (SELECT site FROM sites)",
		 "SELECT hawk_count(1, blocks.\"#n\") FROM block_groups AS blocks WHERE site IN "
		 "(SELECT site FROM sites)"},
		{"SELECT type, count(*) FROM blocks GROUP BY 1",
		 "SELECT type, hawk_count(1, blocks.\"#n\") FROM block_groups AS blocks GROUP BY "
		 "1"},
		{"SELECT DISTINCT kind, site FROM blocks ORDER BY 2",
		 "SELECT DISTINCT kind, site FROM block_groups AS blocks ORDER BY 2"},
	};
	struct hawk_text text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!rewrite(pairs[i][0], &text))
			fail_msg("not recognised: %s", pairs[i][0]);
		assert_string_equal(text.bytes, pairs[i][1]);
	}
	hawk_text_deinit(&text);
}

static void what_groups_cannot_tell_is_asked_of_blocks(void **state)
{
	static const char *const texts[] = {
		/* rows, not sums */
		"SELECT kind FROM blocks",
		"SELECT * FROM blocks",
		"SELECT DISTINCT * FROM blocks",
		"SELECT *, count(*) FROM blocks",
		"SELECT blocks.* FROM blocks GROUP BY kind",
		/* of one row of many */
		"SELECT kind, count(*) FROM blocks",
		"SELECT max(size), kind FROM blocks",
		"SELECT kind, size, count(*) FROM blocks GROUP BY kind",
		"SELECT kind, count(*) FROM blocks GROUP BY kind ORDER BY size",
		"SELECT kind, count(*) FROM blocks GROUP BY kind HAVING size > 1",
		"SELECT size/64+1, count(*) FROM blocks GROUP BY size/64",
		"SELECT kind, count(*) FROM blocks GROUP BY kind COLLATE NOCASE",
		"SELECT kind AS site, count(*) FROM blocks GROUP BY site",
		/* what blocks do not share */
		"SELECT count(*) FROM blocks WHERE address > 5",
		"SELECT count(address) FROM blocks",
		"SELECT count(*) FROM blocks WHERE retained > size",
		"SELECT count(rowid) FROM blocks",
		"SELECT count(b.address) FROM blocks b",
		"SELECT address % 8, count(*) FROM blocks GROUP BY 1",
		"SELECT count(*) FROM blocks WHERE EXISTS (SELECT 1 FROM edges WHERE "
		"source = address)",
		"SELECT DISTINCT kind FROM blocks WHERE site IN ('x', 'y')",
		/* sums that depend on the order, functions that are not known */
		"SELECT sum(age), avg(age) FROM blocks GROUP BY kind, max(kind)",
		"SELECT avg(size + 1) FROM blocks",
		"SELECT total(age) FROM blocks",
		"SELECT sum(DISTINCT size) FROM blocks",
		"SELECT group_concat(kind) FROM blocks",
		"SELECT count(*), random() FROM blocks",
		"SELECT count(*) OVER () FROM blocks",
		"SELECT kind, count(*) OVER w FROM blocks GROUP BY kind WINDOW w AS ()",
		/* more than one question */
		"SELECT count(*) FROM blocks UNION SELECT 1",
		"WITH x AS (SELECT 1) SELECT count(*) FROM blocks",
		"SELECT count(*) FROM blocks WHERE size > (SELECT avg(size) FROM blocks)",
		"SELECT count(*) FROM (SELECT * FROM blocks)",
		"SELECT (SELECT 1), count(*) FROM blocks",
		"EXPLAIN SELECT count(*) FROM blocks",
		/* other tables */
		"SELECT count(*) FROM main.blocks",
		"SELECT count(*) FROM sites",
		"SELECT count(*) FROM sites s LEFT JOIN blocks b USING (site)",
		"SELECT count(*) FROM blocks a JOIN blocks b USING (site)",
		"SELECT count(*) FROM blocks NATURAL JOIN sites",
		"SELECT count(*) FROM blocks b RIGHT JOIN sites s USING (site)",
		"SELECT s.module AS function, count(*) FROM blocks b JOIN sites s USING (site) "
		"GROUP BY function",
		"SELECT s.site, count(*) FROM blocks b JOIN sites s USING (site) GROUP BY b.site",
		"SELECT count(*) FROM blocks WHERE site IN sites",
		/* words that are not looked into */
		"SELECT count(*) FROM blocks -- all",
		"SELECT count(*) /* ; */ FROM blocks",
		"SELECT count(\"size\") FROM blocks",
		"SELECT count(?) FROM blocks",
		"SELECT count(*) FROM blocks WHERE (size > 1",
		"SELECT count(*) FROM blocks WHERE 'x",
		"SELECT 0x1e+size, count(*) FROM blocks GROUP BY kind",
		"",
		";",
		"SELECT",
		"FROM",
	};
	struct hawk_text text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (rewrite(texts[i], &text))
			fail_msg("%s: asked as %s", texts[i], text.bytes);
	hawk_text_deinit(&text);
}

/* Whatever is cut off or left out, the end of the text is the end. */
static void pieces_of_statements_are_read_to_their_end_only(void **state)
{
	static const char whole[] =
		"SELECT b.kind AS k, count(*), sum(size > 9) FILTER (WHERE size IN (1, 2)), "
		"max(address) FROM blocks AS b JOIN sites s USING (site) WHERE s.function LIKE "
		"'a''b%' AND b.site IN (SELECT site FROM leaks) GROUP BY 1 HAVING count(*) > 1 "
		"ORDER BY avg(size) DESC LIMIT 5";
	struct hawk_text text = {0};

	(void)state;
	assert_true(rewrite(whole, &text));
	for (size_t start = 0; start < sizeof(whole) - 1; start++)
		for (size_t end = start; end < sizeof(whole); end++) {
			char *piece = strndup(whole + start, end - start);

			assert_non_null(piece);
			rewrite(piece, &text);
			free(piece);
		}
	for (size_t cut = 0; cut < sizeof(whole) - 1; cut++)
		for (size_t length = 1; length < 40 && cut + length < sizeof(whole); length++) {
			char *piece = strdup(whole);

			assert_non_null(piece);
			memmove(piece + cut, whole + cut + length, sizeof(whole) - cut - length);
			rewrite(piece, &text);
			free(piece);
		}
	hawk_text_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_asked_of_groups),
		cmocka_unit_test(what_groups_cannot_tell_is_asked_of_blocks),
		cmocka_unit_test(pieces_of_statements_are_read_to_their_end_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
