/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Demangled function names made fit for a column: C++ and Rust names run to thousands of
 * characters, of which a few words matter.
 */
#ifndef HAWK_ANALYZER_NAMES_FUNCTION_NAME_H
#define HAWK_ANALYZER_NAMES_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "hawk/base/text.h"

/**
 * Appends `name`, of a function or a type, safe for a terminal and at most `width` columns wide
 * (SIZE_MAX = any). The return type goes, std::string is written so, and what shared_ptr allocates
 * (std::_Sp_counted_ptr_inplace<T, ...>) is T. Then, only as far as needed: default template
 * arguments go, parameters become "(...)", template arguments lose their scopes, inner ones become
 * "<...>", all but the first "..."; outer scopes become "...::"; the rest is cut and ends in "...".
 */
void hawk_function_name_append(struct hawk_text *text, const char *name, size_t width);

/**
 * True for code that only passes an allocation on: malloc and its sisters, operator new, and every
 * function of the standard libraries of C++ and Rust. A site is shown from the first frame that is
 * something else (hawk_stack_telling_line()).
 */
bool hawk_function_name_is_plumbing(const char *name);

/**
 * True for functions that by their name do no more than allocate for their caller: xmalloc,
 * zcalloc_num, CRYPTO_zalloc, g_strdup, sdsnewlen, node::UncheckedMalloc, a class's operator new.
 */
bool hawk_function_name_is_wrapper(const char *name);

/** The last component of a path; `path` itself if it ends in '/'. */
const char *hawk_path_base(const char *path);

#endif
