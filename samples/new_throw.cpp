/* SPDX-License-Identifier: Apache-2.0 */
/** @file A failing operator new throws std::bad_alloc, its nothrow form returns null, and a
 * new_handler is asked first; exceptions travel through frames as ever. */
#include <cstdint>
#include <cstdio>
#include <new>

static int asked;

static void give_up()
{
	if (++asked == 3)
		std::set_new_handler(nullptr);
}

template <typename Call> static bool throws(Call call)
{
	try {
		call();
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

int main()
{
	volatile std::size_t huge = SIZE_MAX / 2;
	void *volatile sink;
	bool ok = true;

	ok &= throws([&] { sink = ::operator new(huge); });
	ok &= throws([&] { sink = ::operator new[](huge); });
	ok &= throws([&] { sink = ::operator new(huge, std::align_val_t(64)); });
	ok &= throws([&] { sink = ::operator new[](huge, std::align_val_t(64)); });
	ok &= throws([&] { sink = new char[huge]; });
	ok &= ::operator new(huge, std::nothrow) == nullptr;
	ok &= ::operator new[](huge, std::nothrow) == nullptr;
	ok &= ::operator new(huge, std::align_val_t(4096), std::nothrow) == nullptr;
	ok &= ::operator new[](huge, std::align_val_t(4096), std::nothrow) == nullptr;

	std::set_new_handler(give_up);
	ok &= throws([&] { sink = ::operator new(huge); });
	ok &= asked == 3;

	for (std::size_t alignment = 16; alignment <= 4096; alignment *= 2) {
		void *block = ::operator new(100, std::align_val_t(alignment));

		ok &= reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
		::operator delete(block, 100, std::align_val_t(alignment));
	}
	void *empty = ::operator new(0);
	ok &= empty != nullptr;
	::operator delete(empty, std::size_t(0));
	::operator delete(nullptr);
	std::puts(ok ? "throws as it should" : "bad");
	return !ok;
}
