/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Function names in columns, plumbing, and foreign text on terminals.
 */
#include "test.h"
#include "hawk/names/function_name.h"
#include "hawk/base/utf8.h"

TEST(names_are_shortened_to_what_tells_them_apart)
{
	static const struct {
		const char *name;
		size_t width;
		const char *shown;
	} cases[] = {
		/* A name that fits is kept */
		{"cache_insert", 40, "cache_insert"},
		{"Order::total(int) const", 40, "Order::total(int) const"},
		{"std::vector<int>::push_back(int&&)", 40, "std::vector<int>::push_back(int&&)"},
		/* The return type is left out */
		{"void fill<int>(int)", 40, "fill<int>(int)"},
		{"std::shared_ptr<A> make<A, int>(int&)", 60, "make<A, int>(int&)"},
		{"void (anonymous namespace)::fill<int>(int)", 60,
		 "(anonymous namespace)::fill<int>(int)"},
		{"operator new(unsigned long)", 60, "operator new(unsigned long)"},
		{"Order::operator bool() const", 60, "Order::operator bool() const"},
		{"<alloc::vec::Vec<T> as core::clone::Clone>::clone", 60,
		 "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
		/* Std::string has its usual name */
		{"f(std::__cxx11::basic_string<char, std::char_traits<char>, "
		 "std::allocator<char> > const&)",
		 60, "f(std::string const&)"},
		/* Parameters go before template arguments */
		{"Table<Key, Value>::insert(Key const&, Value const&)", 40,
		 "Table<Key, Value>::insert(...)"},
		/* Template arguments are shortened in the middle */
		{"Table<Key<int, long>, Value<char> >::insert(Key const&)", 42,
		 "Table<Key<...>, Value<...> >::insert(...)"},
		/* Rust names keep their type and their function */
		{"<gimli::read::abbrev::Abbreviations>::insert", 39, "<Abbreviations>::insert"},
		{"std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>", 39,
		 "...::__rust_begin_short_backtrace"},
		{"<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop", 30,
		 "<Vec<u8> as Drop>::drop"},
		/* The template argument that matters stays */
		{"std::shared_ptr<ui::widgets::Button>::shared_ptr(ui::widgets::Button*)", 44,
		 "std::shared_ptr<Button>::shared_ptr(...)"},
		{"std::vector<Order, std::allocator<Order> >::reserve(unsigned long)", 60,
		 "std::vector<Order>::reserve(unsigned long)"},
		{"std::map<shop::Key, shop::Value, std::less<shop::Key>, "
		 "std::allocator<std::pair<shop::Key const, shop::Value> > >::at(shop::Key const&)",
		 34, "std::map<Key, Value>::at(...)"},
		{"shop::Table<shop::Key, shop::Value, shop::Policy>::find(int)", 31,
		 "...::Table<Key, ...>::find(int)"},
		{"shop::Table<shop::Key, shop::Value, shop::Policy>::find(int)", 28,
		 "shop::Table<...>::find(int)"},
		{"std::unique_ptr<shop::Order, std::default_delete<shop::Order> >", 30,
		 "std::unique_ptr<shop::Order>"},
		/* What a shared pointer owns reads as that */
		{"std::_Sp_counted_ptr_inplace<Button, std::allocator<void>, "
		 "(__gnu_cxx::_Lock_policy)2>",
		 SIZE_MAX, "Button"},
		{"std::_Sp_counted_ptr<shop::Order<int>*, (__gnu_cxx::_Lock_policy)2>", SIZE_MAX,
		 "shop::Order<int>"},
		{"std::_Sp_counted_ptr_inplace<Button, int>::_M_dispose()", SIZE_MAX,
		 "std::_Sp_counted_ptr_inplace<Button, int>::_M_dispose()"},
		{"std::_Sp_counted_ptr_inplace<>", SIZE_MAX, "std::_Sp_counted_ptr_inplace<>"},
		/* Outer scopes go last */
		{"company::product::subsystem::Table<Key>::insert(Key const&)", 28,
		 "...::Table<Key>::insert(...)"},
		/* A name without joints is cut with an ellipsis */
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 12, "aaaaaaaaa..."},
		{"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 5, "\xc3\xa4\xc3\xa4..."},
		/* Operators do not open brackets */
		{"Log::operator<<(Something const&, int)", 20, "Log::operator<<(...)"},
		{"A<B<C> >::operator->() const", 28, "A<B<C> >::operator->() const"},
		{"bool operator< <Key>(Key const&, Key const&)", 60,
		 "operator< <Key>(Key const&, Key const&)"},
		{"Comparator::operator()(Key const&) const", 33,
		 "Comparator::operator()(...) const"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct hawk_text text = {0};

		hawk_function_name_append(&text, cases[i].name, cases[i].width);
		assert_string_equal(text.bytes, cases[i].shown);
		hawk_text_deinit(&text);
	}
}

TEST(every_name_fits_its_column)
{
	static const char *const names[] = {
		"a::b::c<d<e<f>, g>, h>::i(j<k>, l)::{lambda(int)#1}::operator()(int) const",
		"<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<",
		"((((((((((((((((((((((((((((((((((((((((((",
		">>>>>>>>>>>>>>>>>>>))))))))))))))))))))))))",
		"operator operator operator operator operator operator",
		"::::::::::::::::::::::::::::::::::::::::::::::",
		"\xff\xfe\xfd\x01\x1b[31m red \x7f",
	};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		for (size_t width = 4; width < 80; width++) {
			struct hawk_text text = {0};

			hawk_function_name_append(&text, names[i], width);
			assert_true(hawk_utf8_width(text.bytes) <= width);
			hawk_text_deinit(&text);
		}
	}
}

TEST(long_runs_of_brackets_take_no_quadratic_time)
{
	static const char *const units[] = {
		"<",  "a::", "a<b>::",    "(", "<>", "<a, std::allocator<", "a<b, std::hash<c> >::",
		"<,", "::<", "f<a::b, c>"};
	size_t size = 1 << 18;
	char *name = malloc(size + 32); // the last unit ends behind

	assert_non_null(name);
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		struct hawk_text text = {0};

		for (size_t at = 0; at < size; at += strlen(units[i]))
			strcpy(name + at, units[i]);
		hawk_function_name_append(&text, name, 40);
		assert_true(hawk_utf8_width(text.bytes) <= 40);
		hawk_text_deinit(&text);
	}
	free(name);
}

TEST(allocator_plumbing_is_told_from_the_program_s_own_functions)
{
	static const char *const plumbing[] = {
		"malloc",
		"operator new(unsigned long)",
		"operator new[](unsigned long, std::nothrow_t const&)",
		"__gnu_cxx::new_allocator<Order>::allocate(unsigned long, void const*)",
		"std::__new_allocator<int>::allocate(unsigned long, void const*)",
		"std::allocator<char>::allocate(unsigned long)",
		"std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, "
		"unsigned long)",
		"std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
		"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		">::_M_create(unsigned long&, unsigned long)",
		"std::__detail::_Hash_node<int, false>* std::__detail::_Hashtable_alloc<int>::"
		"_M_allocate_node<int>(int&&)",
		"std::vector<int, std::allocator<int> >::push_back(int&&)",
		"std::map<int, Order>::operator[](int const&)",
		"std::shared_ptr<Order> std::make_shared<Order>()",
		"alloc::vec::Vec<T>::push",
		"<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
		"alloc::alloc::alloc",
		"alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle",
		"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		"__rust_alloc"};
	static const char *const own[] = {"cache_insert",
					  "malloc_wrapper",
					  "xmalloc",
					  "Order::allocate(unsigned long)",
					  "shop::_M_allocate(std::allocator<int>&)",
					  "std::vector<Order> shop::orders<int>(int)",
					  "shop::stdlib::std::fill()",
					  "allocate_session",
					  "main",
					  "",
					  "(anonymous namespace)::fill()",
					  "<shop::Order as core::clone::Clone>::clone"};

	for (size_t i = 0; i < COUNT_OF(plumbing); i++)
		if (!hawk_function_name_is_plumbing(plumbing[i]))
			fail_msg("%s", plumbing[i]);
	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (hawk_function_name_is_plumbing(own[i]))
			fail_msg("%s", own[i]);
}

TEST(a_wrapper_of_an_allocator_is_known_by_its_name)
{
	static const char *const wrappers[] = {
		"xmalloc",
		"zmalloc",
		"zcalloc_num",
		"zmalloc_usable",
		"g_malloc0",
		"g_malloc0_n",
		"CRYPTO_zalloc",
		"sqlite3DbMallocRawNN",
		"Perl_safesyscalloc",
		"ngx_palloc",
		"sqlite3_malloc64",
		"xrealloc.constprop.0",
		"ggc_internal_alloc(unsigned long)",
		"g_strdup",
		"xmemdup",
		"PyMem_RawCalloc",
		"_zmalloc",
		"_sdsnewlen",
		"sdscatfmt",
		"_PyObject_GC_New",
		"g_string_append",
		"MemoryContextAllocZeroAligned",
		"AllocSetContextCreateInternal",
		"node::UncheckedMalloc<char>(unsigned long)",
		"char* node::Realloc<char>(char*, unsigned long)",
		"v8::internal::Malloced::operator new(unsigned long)",
		"v8::internal::AlignedAllocWithRetry(unsigned long, unsigned long)"};
	static const char *const others[] = {"cache_insert",
					     "allocate_session",
					     "Order::alloc(int)",
					     "make_cell",
					     "alloc_skb_list",
					     "sdsl_open",
					     "(anonymous namespace)::alloc",
					     "shop::malloc_hook(Table<xmalloc>)",
					     "new_order",
					     ""};

	for (size_t i = 0; i < COUNT_OF(wrappers); i++)
		if (!hawk_function_name_is_wrapper(wrappers[i]))
			fail_msg("%s", wrappers[i]);
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (hawk_function_name_is_wrapper(others[i]))
			fail_msg("%s", others[i]);
}

TEST(control_characters_and_invalid_bytes_are_escaped)
{
	struct hawk_text text = {0};

	hawk_utf8_append_safe(&text, "a\033[2Jb\n\x7f\xc2\x9b\xff\xe2\x80\xae\xc3\xa4");
	assert_string_equal(text.bytes,
			    "a\\x1b[2Jb\\x0a\\x7f\\xc2\\x9b\\xff\\xe2\\x80\\xae\xc3\xa4");
	hawk_text_deinit(&text);
}

TEST(what_is_too_long_keeps_both_ends)
{
	static const struct {
		size_t width;
		const char *shown;
	} cases[] = {{40, "a_rather_long_file_name.c:42"},
		     {16, "a_rath...me.c:42"},
		     {4, "...2"},
		     {3, "..."},
		     {1, "."}};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct hawk_text text = {0};

		hawk_utf8_append_middle_cut(&text, "a_rather_long_file_name.c:42", cases[i].width);
		assert_string_equal(text.bytes, cases[i].shown);
		hawk_text_deinit(&text);
	}
}

TEST(overlong_and_surrogate_sequences_are_invalid)
{
	static const char *const invalid[] = {"\xc0\xaf",         "\xe0\x80\xaf", "\xed\xa0\x80",
					      "\xf4\x90\x80\x80", "\xe2\x82",     ""};

	for (size_t i = 0; i < COUNT_OF(invalid); i++)
		assert_int_equal(hawk_utf8_length(invalid[i]), 0);
	assert_int_equal(hawk_utf8_length("\xe2\x82\xac"), 3);
	assert_int_equal(hawk_utf8_length("\xf0\x9f\xa6\x85"), 4);
}

TEST(the_base_of_a_path_is_its_last_component)
{
	assert_string_equal(hawk_path_base("/usr/bin/orderd"), "orderd");
	assert_string_equal(hawk_path_base("orderd"), "orderd");
	assert_string_equal(hawk_path_base("/usr/"), "/usr/");
}
