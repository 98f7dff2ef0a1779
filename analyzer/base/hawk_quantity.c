/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Printing of quantities; reading is in quantity_parse.c.
 */
#include "hawk_quantity.h"

#include <stdio.h>
#include <string.h>

struct hawk_quantity hawk_quantity_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct hawk_quantity ret;
	double value = (double)bytes;
	unsigned unit = 0;

	/* 1023.95 would be printed as 1024.0. */
	while (value >= (unit ? 1023.95 : 1024.0) && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(ret.text, sizeof(ret.text), unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return ret;
}

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
