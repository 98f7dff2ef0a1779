/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Puts the built page into the program. The page is committed, so that a C build needs no node.
 */
#include "page.h"

__asm__(".pushsection .rodata\n"
	".globl hawk_html_page, hawk_html_page_end\n"
	"hawk_html_page:\n"
	".incbin \"" HAWK_HTML_PAGE "\"\n"
	"hawk_html_page_end:\n"
	".byte 0\n"
	".popsection\n");
