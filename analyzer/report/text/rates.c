/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * A look at a running process: its sums, and the sites that grow most.
 */
#include "hawk/report/rates.h"

#include "hawk/base/cleanup.h"
#include "hawk/base/quantity.h"

enum { NAME_COLUMN = 49, SIGNED_BYTES = 40 };

/** "+1.2 MiB", "-17 B", "0 B" */
struct signed_text {
	char text[SIGNED_BYTES];
};

static struct signed_text signed_bytes(double bytes)
{
	struct hawk_quantity size = hawk_quantity_bytes((uint64_t)(bytes < 0 ? -bytes : bytes));
	struct signed_text ret;

	snprintf(ret.text, sizeof(ret.text), "%s%s",
		 bytes >= 1    ? "+"
		 : bytes <= -1 ? "-"
			       : "",
		 size.text);
	return ret;
}

static double growth(const struct hawk_rate_site *site)
{
	return (double)(int64_t)(site->now.bytes - site->first.bytes);
}

static void put_sums(const struct hawk_rates_report *report, const struct hawk_screen *screen)
{
	const struct hawk_rates *rates = report->rates;
	const struct hawk_process *process = hawk_target_process(report->heap->target);

	hawk_screen_foreign(screen, process->name);
	hawk_output_printf(screen->output, " (pid %u)  %s resident, %s live in %s blocks\n",
			   process->pid, hawk_quantity_bytes(process->resident_bytes).text,
			   hawk_quantity_bytes(rates->all.now.bytes).text,
			   hawk_quantity_count(rates->all.now.objects).text);
	if (rates->looks > 1)
		hawk_output_printf(
			screen->output, "watched for %s: %s live, now %s/s\n",
			hawk_quantity_seconds((double)(rates->now_ns - rates->first_ns) / 1e9).text,
			signed_bytes(growth(&rates->all)).text,
			signed_bytes(hawk_rates_per_second(rates, &rates->all)).text);
	if (!rates->live)
		hawk_screen_paragraph(screen,
				      "The tracer counts frees by site with live=1 in HAWK_OPTS "
				      "only: below is what sites allocated, not what they keep.",
				      0, 0);
}

static void append_name(const struct hawk_rates_report *report, const struct hawk_screen *screen,
			const struct hawk_rate_site *site, struct hawk_text *name)
{
	hawk_site_name_tell(report->names, site->site, screen->width - NAME_COLUMN, name);
}

static void put_site(const struct hawk_rates_report *report, const struct hawk_screen *screen,
		     const struct hawk_rate_site *site)
{
	CLEANUP(text) struct hawk_text name;

	hawk_text_init(&name);
	append_name(report, screen, site, &name);
	hawk_output_printf(screen->output, "%10s %11s %13s %11s  %s\n",
			   hawk_quantity_bytes(site->now.bytes).text,
			   signed_bytes(growth(site)).text,
			   signed_bytes(hawk_rates_per_second(report->rates, site)).text,
			   hawk_quantity_count(site->now.objects).text, hawk_text_string(&name));
}

static void put_sites(const struct hawk_rates_report *report, const struct hawk_screen *screen,
		      const struct hawk_ranking *ranking)
{
	const struct hawk_rate_rank *ranks = ranking->items;
	CLEANUP(text) struct hawk_text nowhere;

	hawk_text_init(&nowhere);
	hawk_site_names_mode(report->names, HAWK_NAMES_LEARN);
	for (size_t i = 0; i < ranking->count; i++)
		append_name(report, screen, &report->rates->sites[ranks[i].index], &nowhere);
	hawk_site_names_mode(report->names, HAWK_NAMES_TELL);
	for (size_t i = 0; i < ranking->count; i++)
		put_site(report, screen, &report->rates->sites[ranks[i].index]);
}

struct hawk_error *hawk_report_rates(const struct hawk_rates_report *report,
				     const struct hawk_screen *screen)
{
	struct hawk_ranking ranking;
	struct hawk_error *err = hawk_rates_rank(report->rates, report->top, &ranking);

	put_sums(report, screen);
	hawk_screen_faint(screen, "%10s %11s %13s %11s  site\n",
			  report->rates->live ? "live" : "allocated", "growth", "per second",
			  "blocks");
	if (!err)
		put_sites(report, screen, &ranking);
	hawk_ranking_deinit(&ranking);
	return err;
}
