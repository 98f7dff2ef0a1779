/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Corners of operator new: impossible sizes and alignments, new handlers, exceptions through the
 * tracer's frames. Prints what it sees, which must be the same without a tracer.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

static int handled;

static void handle()
{
	if (++handled % 3 == 0)
		throw std::runtime_error("from the new handler");
}

template <typename Make> static void attempt(const char *what, Make make)
{
	try {
		void *pointer = make();

		printf("%s: %s\n", what, pointer ? "block" : "NULL");
	} catch (const std::bad_alloc &) {
		printf("%s: bad_alloc\n", what);
	} catch (const std::runtime_error &error) {
		printf("%s: %s\n", what, error.what());
	}
}

static void *volatile taken;

static void attempt_all()
{
	static const std::size_t sizes[] = {
		0, 40, PTRDIFF_MAX, SIZE_MAX, SIZE_MAX - 15, (std::size_t)1 << 48};
	static const std::size_t alignments[] = {
		0, 1, 3, 8, 24, 40, 64, 4096, (std::size_t)1 << 47, (std::size_t)1 << 63, SIZE_MAX};

	for (std::size_t size : sizes) {
		printf("size %zx\n", size);
		std::size_t least = size < 40 ? 40 : size;

		attempt("new", [=] { return taken = operator new(least); });
		attempt("new[]", [=] { return taken = operator new[](least); });
		attempt("new nothrow", [=] { return taken = operator new(least, std::nothrow); });
		attempt("new[] nothrow",
			[=] { return taken = operator new[](least, std::nothrow); });
		if (size > PTRDIFF_MAX) /* libstdc++ rounds these up to small ones */
			continue;
		attempt("aligned",
			[=] { return taken = operator new(least, std::align_val_t(64)); });
		attempt("aligned nothrow", [=] {
			return taken = operator new[](least, std::align_val_t(64), std::nothrow);
		});
	}
	for (std::size_t alignment : alignments) {
		printf("alignment %zx\n", alignment);
		attempt("new",
			[=] { return taken = operator new(40, std::align_val_t(alignment)); });
		attempt("new[]",
			[=] { return taken = operator new[](40, std::align_val_t(alignment)); });
		attempt("nothrow", [=] {
			return taken = operator new(40, std::align_val_t(alignment), std::nothrow);
		});
	}
	operator delete(operator new(0));
	operator delete[](operator new[](0), static_cast<std::size_t>(0));
	operator delete(nullptr);
	operator delete(nullptr, std::align_val_t(64));
}

int main()
{
	attempt_all();
	std::set_new_handler(handle);
	attempt_all();
	printf("handler ran %d times\n", handled);
	return 0;
}
