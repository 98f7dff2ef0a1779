/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The built page from report/html/page/dist/.
 */
#ifndef HAWK_ANALYZER_REPORT_HTML_PAGE_H
#define HAWK_ANALYZER_REPORT_HTML_PAGE_H

extern const char hawk_html_page[];
extern const char hawk_html_page_end[];

/** Marks the place of the parts. */
#define HAWK_HTML_MARK "<!--parts-->"

#endif
