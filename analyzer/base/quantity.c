/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Prints quantities and parses them from options; strictly, the whole text must match.
 */
#include "hawk/base/quantity.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct hawk_quantity hawk_quantity_count(uint64_t count)
{
	struct hawk_quantity ret;
	char *at = ret.text + sizeof(ret.text);
	unsigned digits = 0;

	*--at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + count % 10);
		digits++;
	} while (count /= 10);
	memmove(ret.text, at, (size_t)(ret.text + sizeof(ret.text) - at));
	return ret;
}

struct hawk_quantity hawk_quantity_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct hawk_quantity ret;
	double value = (double)bytes;
	unsigned unit = 0;

	/* Single bytes are exact; of larger units a thousand are the next one. 999.95 would be
	 * printed as 1000.0. */
	while (value >= (unit ? 999.95 : 1024.0) && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	if (unit)
		snprintf(ret.text, sizeof(ret.text), "%.1f %s", value, units[unit]);
	else
		snprintf(ret.text, sizeof(ret.text), "%.5s B", hawk_quantity_count(bytes).text);
	return ret;
}

bool hawk_quantity_more_bytes(uint64_t bytes, uint64_t than)
{
	return bytes > than &&
	       strcmp(hawk_quantity_bytes(bytes).text, hawk_quantity_bytes(than).text) != 0;
}

struct hawk_quantity hawk_quantity_share(uint64_t part, uint64_t whole)
{
	struct hawk_quantity ret = {"-"};
	double share;

	if (!whole)
		return ret;
	share = 100.0 * (double)part / (double)whole;
	if (part && share < 0.1)
		snprintf(ret.text, sizeof(ret.text), "<0.1 %%");
	else
		snprintf(ret.text, sizeof(ret.text), "%.1f %%", share);
	return ret;
}

struct hawk_quantity hawk_quantity_seconds(double seconds)
{
	struct hawk_quantity ret = {"-"};
	uint64_t whole;

	if (!(seconds >= 0) || seconds > 1e15)
		return ret;
	whole = (uint64_t)seconds;
	if (seconds < 0.05)
		snprintf(ret.text, sizeof(ret.text), "<0.1 s");
	else if (seconds < 10)
		snprintf(ret.text, sizeof(ret.text), "%.1f s", seconds);
	else if (whole < 60)
		snprintf(ret.text, sizeof(ret.text), "%u s", (unsigned)whole);
	else if (whole < 3600)
		snprintf(ret.text, sizeof(ret.text), "%u min %u s", (unsigned)(whole / 60),
			 (unsigned)(whole % 60));
	else if (whole < 86400)
		snprintf(ret.text, sizeof(ret.text), "%u h %u min", (unsigned)(whole / 3600),
			 (unsigned)(whole / 60 % 60));
	else
		snprintf(ret.text, sizeof(ret.text), "%llu d %u h",
			 (unsigned long long)(whole / 86400), (unsigned)(whole / 3600 % 24));
	return ret;
}

struct hawk_quantity hawk_quantity_nanoseconds(uint64_t ns)
{
	struct hawk_quantity ret;

	if (ns < 1000000)
		snprintf(ret.text, sizeof(ret.text), "%u us", (unsigned)(ns / 1000));
	else if (ns < 1000000000)
		snprintf(ret.text, sizeof(ret.text), "%.1f ms", (double)ns / 1e6);
	else
		snprintf(ret.text, sizeof(ret.text), "%.2f s", (double)ns / 1e9);
	return ret;
}

bool hawk_quantity_parse_count(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	}
	*ret = value;
	return true;
}

bool hawk_quantity_parse_hex(const char *text, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned digits = 0;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	for (; isxdigit((unsigned char)*text); text++, digits++) {
		int c = tolower((unsigned char)*text);

		value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	if (*text || !digits || digits > 16)
		return false;
	*ret = value;
	return true;
}

/**
 * Digits with an optional fraction at the start of `text`; `*end` is what follows. strtod() alone
 * would also take "inf", "0x1p3" and a sign.
 */
static bool parse_number(const char *text, double *ret, const char **end)
{
	const char *at = text;
	char number[64];
	size_t length;

	while (isdigit((unsigned char)*at))
		at++;
	if (at == text)
		return false;
	if (*at == '.') {
		if (!isdigit((unsigned char)*++at))
			return false;
		while (isdigit((unsigned char)*at))
			at++;
	}
	length = (size_t)(at - text);
	if (length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	*ret = strtod(number, NULL);
	*end = at;
	return isfinite(*ret);
}

/** log2 of the unit's factor, or -1. */
static int unit_shift(const char *unit)
{
	static const char letters[] = "kmgtp";
	const char *letter;

	while (*unit == ' ')
		unit++;
	if (!*unit || !strcasecmp(unit, "b"))
		return 0;
	letter = strchr(letters, tolower((unsigned char)*unit));
	if (!letter)
		return -1;
	unit++;
	if (*unit && strcasecmp(unit, "b") && strcasecmp(unit, "ib"))
		return -1;
	return 10 * (int)(letter - letters + 1);
}

bool hawk_quantity_parse_bytes(const char *text, uint64_t *ret)
{
	const char *unit;
	uint64_t exact;
	double value;
	int shift;

	if (hawk_quantity_parse_count(text, &exact)) { // beyond 2^53 a double is not exact
		*ret = exact;
		return true;
	}
	if (!parse_number(text, &value, &unit))
		return false;
	shift = unit_shift(unit);
	if (shift < 0)
		return false;
	value = ldexp(value, shift);
	if (value >= 0x1p64)
		return false;
	*ret = (uint64_t)value;
	return true;
}

static bool parse_seconds(const char *text, double *ret)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"", 1},     {"s", 1},    {"ms", 0.001}, {"m", 60},
		     {"min", 60}, {"h", 3600}, {"d", 86400},  {"w", 604800}};
	const char *unit;
	double value;

	if (!parse_number(text, &value, &unit))
		return false;
	while (*unit == ' ')
		unit++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(unit, units[i].unit))
			continue;
		*ret = value * units[i].factor;
		return true;
	}
	return false;
}

/** Cuts `text` at its '-' into two copies in `low` and `high`; without one `high` is NULL. */
static bool split_range(const char *text, char low[64], char high_buffer[64], const char **high)
{
	const char *dash = strchr(text, '-');
	size_t length = dash ? (size_t)(dash - text) : strlen(text);

	if (length >= 64 || (dash && strlen(dash + 1) >= 64))
		return false;
	if (dash && !length && !dash[1])
		return false;
	memcpy(low, text, length);
	low[length] = '\0';
	*high = dash ? strcpy(high_buffer, dash + 1) : NULL;
	return true;
}

bool hawk_quantity_parse_bytes_range(const char *text, struct hawk_range *ret)
{
	struct hawk_range range = {0, UINT64_MAX};
	char low[64], high_buffer[64];
	const char *high;

	if (!split_range(text, low, high_buffer, &high))
		return false;
	if ((*low || !high) && !hawk_quantity_parse_bytes(low, &range.low))
		return false;
	if (high && *high && !hawk_quantity_parse_bytes(high, &range.high))
		return false;
	if (range.low > range.high)
		return false;
	*ret = range;
	return true;
}

bool hawk_quantity_parse_seconds_range(const char *text, struct hawk_seconds_range *ret)
{
	struct hawk_seconds_range range = {0, INFINITY};
	char low[64], high_buffer[64];
	const char *high;

	if (!split_range(text, low, high_buffer, &high))
		return false;
	if ((*low || !high) && !parse_seconds(low, &range.low))
		return false;
	if (high && *high && !parse_seconds(high, &range.high))
		return false;
	if (range.low > range.high)
		return false;
	*ret = range;
	return true;
}
