/* SPDX-License-Identifier: Apache-2.0 */
/** @file The C++ part: products and purchase histories, behind a C interface. */
#include "orderd.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop
{

struct Product {
	std::string name;
	std::string description;
	uint64_t cents;
};

template <typename Key, typename Value> class Registry
{
      public:
	void add(Key key, std::shared_ptr<Value> value)
	{
		entries_.emplace(key, std::move(value));
	}

	const Value *find(Key key) const
	{
		auto found = entries_.find(key);

		return found == entries_.end() ? nullptr : found->second.get();
	}

      private:
	std::map<Key, std::shared_ptr<Value>> entries_;
};

class History
{
      public:
	void note(uint32_t customer, uint32_t product)
	{
		std::lock_guard<std::mutex> guard(lock_);

		purchases_[customer].push_back(product);
	}

      private:
	std::mutex lock_;
	std::unordered_map<uint32_t, std::vector<uint32_t>> purchases_;
};

} // namespace shop

struct catalog {
	shop::Registry<uint32_t, shop::Product> products;
	shop::History history;
};

struct catalog *catalog_open(uint32_t product_count)
{
	auto made = std::make_unique<catalog>();

	for (uint32_t i = 0; i < product_count; i++) {
		auto product = std::make_shared<shop::Product>();

		product->name = "product " + std::to_string(i);
		product->description = std::string(40 + i % 200, 'x');
		product->cents = 100 + i * 7 % 9900;
		made->products.add(i, std::move(product));
	}
	return made.release();
}

void catalog_close(struct catalog *catalog)
{
	delete catalog;
}

uint64_t catalog_price(const struct catalog *catalog, uint32_t product)
{
	const shop::Product *found = catalog->products.find(product);

	return found ? found->cents : 0;
}

void catalog_note_purchase(struct catalog *catalog, uint32_t customer, uint32_t product)
{
	catalog->history.note(customer, product);
}
