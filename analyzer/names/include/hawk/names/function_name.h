/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Shortens demangled function names to fit a column: C++ and Rust names run to thousands of
 * characters, of which a few words matter.
 */
#ifndef HAWK_ANALYZER_NAMES_FUNCTION_NAME_H
#define HAWK_ANALYZER_NAMES_FUNCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "hawk/base/text.h"

/**
 * Appends `name`, of a function or a type, safe for a terminal and at most `width` columns wide
 * (SIZE_MAX = any). Always drops the return type, shortens std::string, and reduces shared_ptr's
 * wrappers (std::_Sp_counted_ptr_inplace<T, ...>) to T. Then, only as needed: drops default
 * template arguments; parameters become "(...)"; template arguments lose their scopes, inner ones
 * become "<...>", all but the first "..."; outer scopes become "...::"; finally cuts and ends in
 * "...".
 */
void hawk_function_name_append(struct hawk_text *text, const char *name, size_t width);

/** Appends a type's name, safe for a terminal, without default template arguments, and with
 * std::string's usual name: compilers spell these differently. */
void hawk_type_name_append(struct hawk_text *text, const char *name);

/**
 * Returns true for code that only passes an allocation on: malloc and its sisters, operator new,
 * and every function of the standard libraries of C++ and Rust. A site is shown from its first
 * other frame (hawk_stack_telling_line()).
 */
bool hawk_function_name_is_plumbing(const char *name);

/**
 * Returns true for functions whose names say that they only allocate for their caller: xmalloc,
 * zcalloc_num, CRYPTO_zalloc, g_strdup, sdsnewlen, node::UncheckedMalloc, a class's operator new.
 */
bool hawk_function_name_is_wrapper(const char *name);

#endif
