/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All tables as a database of their own: real ones, with an index where the virtual ones have a
 * look-up. The file is not protected while being made; the caller protects it, and names it
 * afterwards.
 *
 * SQLite opens files by name only, and follows links itself. So a file without a name is opened as
 * /proc/self/fd/N, by a VFS that leaves this name as it is.
 */
#include <fcntl.h>
#include <string.h>

#include "hawk/base/cleanup.h"
#include "hawk/base/text.h"
#include "hawk/base/utf8.h"
#include "state.h"

enum {
	APPLICATION_ID = 0x4841574b, /**< "HAWK" */
	USER_VERSION = 1,            /**< of the tables: changes when a column goes */
	TEXTS_MAX = 3,
};

static inline void hawk_cleanup_statement(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

/** Returns the error of the file, or of a table. */
static struct hawk_error *fail(struct hawk_sql *sql)
{
	if (sql->error || sqlite3_errcode(sql->database) == SQLITE_NOMEM)
		return hawk_sql_error(sql);
	return hawk_error_create(HAWK_ERROR_OS, "cannot write the database: %s",
				 sqlite3_errmsg(sql->database));
}

/** Runs `text`, with `values` for its parameters up to a NULL. False: it failed. */
static bool run(struct hawk_sql *sql, const char *text, const char *const *values)
{
	CLEANUP(statement) sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(sql->database, text, -1, &statement, NULL) != SQLITE_OK)
		return false;
	for (int i = 0; values && values[i]; i++)
		if (sqlite3_bind_text(statement, i + 1, values[i], -1, SQLITE_STATIC) != SQLITE_OK)
			return false;
	while (sqlite3_step(statement) == SQLITE_ROW)
		continue;
	return sqlite3_reset(statement) == SQLITE_OK;
}

/** False: there was no memory for the text. */
static bool is_whole(struct hawk_sql *sql, const struct hawk_text *text)
{
	if (text->failed)
		sql->error = &hawk_enomem;
	return !text->failed;
}

static bool run_text(struct hawk_sql *sql, const struct hawk_text *text)
{
	return is_whole(sql, text) && run(sql, hawk_text_string(text), NULL);
}

/** With foreign texts for its parameters. */
static bool run_safely(struct hawk_sql *sql, const char *text, const char *const *values)
{
	struct hawk_text safe[TEXTS_MAX] = {0};
	const char *strings[TEXTS_MAX + 1] = {NULL};
	bool good = true;

	for (size_t i = 0; i < TEXTS_MAX && values[i]; i++) {
		hawk_utf8_append_safe(&safe[i], values[i]);
		strings[i] = hawk_text_string(&safe[i]);
		good = good && is_whole(sql, &safe[i]);
	}
	good = good && run(sql, text, strings);
	for (size_t i = 0; i < TEXTS_MAX; i++)
		hawk_text_deinit(&safe[i]);
	return good;
}

/** The table without rows. Hidden columns cost much, and stay behind. */
static bool create_table(struct hawk_sql *sql, const char *name, sqlite3_stmt *rows)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "CREATE TABLE file.%s(", name);
	for (int i = 0; i < sqlite3_column_count(rows); i++)
		hawk_text_printf(&text, "%s\"%s\" %s", i ? ", " : "", sqlite3_column_name(rows, i),
				 sqlite3_column_decltype(rows, i));
	hawk_text_puts(&text, ") STRICT");
	return run_text(sql, &text);
}

static bool create_indexes(struct hawk_sql *sql, const struct sql_table *table, sqlite3_stmt *rows)
{
	for (int i = 0; i < SQL_KEYS; i++) {
		const char *column = sqlite3_column_name(rows, table->keys[i].column);
		CLEANUP(text) struct hawk_text text = {0};

		if (table->keys[i].kind == SQL_KEY_NONE)
			continue;
		hawk_text_printf(&text, "CREATE INDEX file.%s_%s ON %s(\"%s\")", table->name,
				 column, table->name, column);
		if (!run_text(sql, &text))
			return false;
	}
	return true;
}

/** "main.blocks" is the virtual table, which has no other schema. */
static bool copy_table(struct hawk_sql *sql, const struct sql_table *table)
{
	CLEANUP(text) struct hawk_text select = {0}, insert = {0};
	CLEANUP(statement) sqlite3_stmt *rows = NULL;

	hawk_text_printf(&select, "SELECT * FROM main.%s", table->name);
	hawk_text_printf(&insert, "INSERT INTO file.%s %s", table->name, hawk_text_string(&select));
	return is_whole(sql, &select) &&
	       sqlite3_prepare_v2(sql->database, select.bytes, -1, &rows, NULL) == SQLITE_OK &&
	       create_table(sql, table->name, rows) && run_text(sql, &insert) &&
	       create_indexes(sql, table, rows);
}

static bool put_about(struct hawk_sql *sql, const struct hawk_sql_about *about)
{
	static const char *const sorts[] = {
		[HAWK_FINDING_MISSING] = "missing", [HAWK_FINDING_DAMAGE] = "damage"};
	const struct hawk_findings *findings = about->findings(about->context);
	const char *const values[] = {about->version, about->source, NULL};
	bool good = run(sql, "CREATE TABLE file.meta(version TEXT, source TEXT) STRICT", NULL) &&
		    run_safely(sql, "INSERT INTO file.meta VALUES(?, ?)", values) &&
		    run(sql,
			"CREATE TABLE file.findings(sort TEXT, key TEXT, text TEXT, count INTEGER, "
			"partial INTEGER) STRICT",
			NULL);

	for (size_t i = 0; i < findings->count && good; i++) {
		const struct hawk_finding *finding = &findings->items[i];
		CLEANUP(text) struct hawk_text insert = {0};
		const char *const texts[] = {sorts[finding->sort], finding->key, finding->text,
					     NULL};

		hawk_text_printf(&insert,
				 "INSERT INTO file.findings VALUES(?, rtrim(?, '*'), ?, %llu, %d)",
				 (unsigned long long)finding->count, finding->partial);
		good = is_whole(sql, &insert) && run_safely(sql, insert.bytes, texts);
	}
	return good;
}

/** xFullPathname that keeps `name`. */
static int keep_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	(void)vfs;
	sqlite3_snprintf(size, ret, "%s", name);
	return SQLITE_OK;
}

/** SQLite's open(), which has followed links before, and refuses them here. */
static int open_link(const char *path, int flags, int mode)
{
	return open(path, flags & ~O_NOFOLLOW, mode);
}

/** Makes the VFS "links" known. False: no memory. */
static bool register_links(sqlite3_vfs *usual)
{
	static sqlite3_vfs links;

	if (sqlite3_vfs_find("links"))
		return true;
	links = *usual;
	links.zName = "links";
	links.xFullPathname = keep_name;
	return sqlite3_vfs_register(&links, false) == SQLITE_OK;
}

/** Runs ATTACH for `name`, a link in /proc, whose text is no path to its file. */
static bool attach_link(struct hawk_sql *sql, const char *name)
{
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	const char *const values[] = {name, NULL};
	bool good;

	if (!register_links(usual))
		return false;
	usual->xSetSystemCall(usual, "open", (sqlite3_syscall_ptr)open_link);
	good = run(sql, "ATTACH ? AS file", values);
	usual->xSetSystemCall(usual, "open", NULL);
	return good;
}

static bool attach(struct hawk_sql *sql, int fd)
{
	CLEANUP(text) struct hawk_text numbers = {0}, name = {0};

	hawk_text_printf(&name, "file:/proc/self/fd/%d?vfs=links", fd);
	hawk_text_printf(&numbers, "PRAGMA file.application_id = %d", APPLICATION_ID);
	if (!is_whole(sql, &name) || !attach_link(sql, name.bytes) ||
	    !run(sql, "PRAGMA file.journal_mode = OFF", NULL) ||
	    !run(sql, "PRAGMA file.synchronous = OFF", NULL) || !run_text(sql, &numbers))
		return false;
	hawk_text_clear(&numbers);
	hawk_text_printf(&numbers, "PRAGMA file.user_version = %d", USER_VERSION);
	return run_text(sql, &numbers);
}

static bool save(struct hawk_sql *sql, const struct hawk_sql_about *about)
{
	if (!run(sql, "BEGIN", NULL))
		return false;
	for (size_t i = 0; hawk_sql_tables[i]; i++)
		if (!copy_table(sql, hawk_sql_tables[i]))
			return false;
	return put_about(sql, about) && run(sql, "COMMIT", NULL);
}

struct hawk_error *hawk_sql_save(struct hawk_sql *sql, int fd, const struct hawk_sql_about *about)
{
	struct hawk_progress progress;
	struct hawk_error *err = NULL;

	hawk_progress_begin(&progress, "writing tables", 0);
	hawk_sql_refresh(sql);
	sql->is_saved = true;
	if (!attach(sql, fd) || !save(sql, about))
		err = fail(sql);
	hawk_progress_end(&progress);
	return err;
}
