/* Owns containers of every kind at several fills, and prints the type and the expression of what it
 * owns: "TYPE ADDRESS EXPRESSION" ("-" = not asked). See typed.py. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace shop
{
struct Line {
	std::string text;
	long count = 1;
};

struct Order {
	Line *first = nullptr;
	std::vector<Line> lines;
	Order *next = nullptr;
	void *opaque = nullptr;
	char *bytes = nullptr;
};

struct Shape {
	virtual ~Shape() = default;
	long id = 3;
};
struct Circle : Shape {
	std::unique_ptr<Line> label;
};

/* One container of each kind, with `n` elements. */
struct Fill {
	std::vector<Line> vector;
	std::vector<std::vector<Line *>> nested;
	std::deque<Line> deque;
	std::list<Line> list;
	std::forward_list<Line> forward;
	std::map<long, Line> map;
	std::multimap<long, std::map<long, Line>> maps;
	std::set<std::string> set;
	std::unordered_map<std::string, Line> table;
	std::unordered_set<long> numbers;
	std::shared_ptr<Line> shared;
	std::unique_ptr<Order> unique;
	std::optional<Line> optional;
};

struct Server {
	Fill fills[4];
	Order *orders = nullptr;
	std::vector<std::unique_ptr<Shape>> shapes;
	Order *table[3] = {};
};
static Server server;
} // namespace shop

using namespace shop;

static void print(const char *type, const void *address, const char *expression = "-")
{
	printf("%s\t%p\t%s\n", type, address, expression);
}

static const char *format(const char *pattern, int number)
{
	static char text[256];

	snprintf(text, sizeof(text), pattern, number);
	return text;
}

static std::string long_text(int number)
{
	return "a text that does not fit into its string: " + std::to_string(number);
}

/* The address of what is around a value: a node begins with pointers. */
static void print_node(const char *type, const void *value, size_t header)
{
	print(type, static_cast<const char *>(value) - header);
}

static void fill_sequences(Fill &fill, int number, int n)
{
	for (int i = 0; i < n; i++) /* a deque that does not begin at its first buffer */
		fill.deque.push_back({"short"});
	for (int i = 0; i < n; i++) {
		fill.vector.push_back({long_text(i)});
		fill.nested.push_back(std::vector<Line *>(i % 4, new Line{long_text(i)}));
		fill.deque.push_back({long_text(i)});
		fill.deque.pop_front();
		fill.list.push_back({long_text(i)});
		fill.forward.push_front({long_text(i)});
	}
	if (!n)
		return;
	print("shop::Line[]", fill.vector.data());
	print("char[]", fill.vector.back().text.data(),
	      n == 1 ? format("shop::server.fills[%d].vector[0].text", number) : "-");
	print("std::vector<shop::Line*>[]", fill.nested.data());
	for (auto &inner : fill.nested)
		if (!inner.empty()) {
			print("shop::Line*[]", inner.data());
			print("shop::Line", inner[0]);
		}
	print("char[]", fill.deque.back().text.data());
	for (auto &line : fill.list) {
		print_node("std::_List_node<shop::Line>", &line, 16);
		print("char[]", line.text.data(),
		      format("shop::server.fills[%d].list[...].text", number));
	}
	for (auto &line : fill.forward)
		print_node("std::_Fwd_list_node<shop::Line>", &line, 8);
}

static void fill_maps(Fill &fill, int number, int n)
{
	for (int i = 0; i < n; i++) {
		fill.map[i] = {long_text(i)};
		fill.maps.insert({i, {{i, {long_text(i)}}}});
		fill.set.insert(long_text(i));
		fill.table[long_text(i)] = {long_text(i)};
		fill.numbers.insert(i);
	}
	for (auto &[key, line] : fill.map) {
		print_node("std::_Rb_tree_node<std::pair<long const, shop::Line> >", &key, 32);
		print("char[]", line.text.data(),
		      format("shop::server.fills[%d].map[...].second.text", number));
	}
	for (auto &[key, inner] : fill.maps)
		print("char[]", inner.begin()->second.text.data(),
		      format("shop::server.fills[%d].maps[...].second[...].second.text", number));
	for (auto &text : fill.set)
		print_node("std::_Rb_tree_node<std::string>", &text, 32);
	for (auto &[key, line] : fill.table) {
		print_node(
			"std::__detail::_Hash_node<std::pair<std::string const, shop::Line>, true>",
			&key, 8);
		print("char[]", key.data(),
		      format("shop::server.fills[%d].table[...].first", number));
		print("char[]", line.text.data());
	}
	for (auto &value : fill.numbers)
		print_node("std::__detail::_Hash_node<long, false>", &value, 8);
}

static void fill_pointers(Fill &fill, int number)
{
	fill.shared = std::make_shared<Line>(Line{long_text(1)});
	fill.unique = std::make_unique<Order>();
	fill.unique->lines.resize(3);
	fill.optional = Line{long_text(2)};
	print("char[]", fill.shared->text.data(),
	      format("shop::server.fills[%d].shared->text", number));
	print("shop::Order", fill.unique.get(), format("shop::server.fills[%d].unique", number));
	print("shop::Line[]", fill.unique->lines.data(),
	      format("shop::server.fills[%d].unique->lines", number));
	print("char[]", fill.optional->text.data(),
	      format("shop::server.fills[%d].optional.text", number));
}

static void fill_objects()
{
	for (int i = 0; i < 3; i++) {
		Order *order = new Order;
		Circle *circle = new Circle;

		order->first = new Line{long_text(i)};
		order->opaque = malloc(80); /* nobody can know */
		order->next = server.orders;
		server.orders = order;
		print("shop::Order", order);
		print("shop::Line", order->first);
		print("?", order->opaque);
		circle->label = std::make_unique<Line>(Line{long_text(i)});
		print("shop::Circle", circle);
		print("shop::Line", circle->label.get());
		server.shapes.push_back(std::unique_ptr<Shape>(circle));
	}
	server.table[2] = new Order;
	print("shop::Order", server.table[2], "shop::server.table[2]");
	server.table[2]->bytes = reinterpret_cast<char *>(new Line); /* through a cast */
	print("shop::Line", server.table[2]->bytes);
	print("shop::Order", server.orders, "shop::server.orders");
	print("char[]", server.orders->next->first->text.data(),
	      "shop::server.orders->next->first->text");
}

__attribute__((noinline)) static void work(std::map<long, Line> &lines)
{
	for (auto &[key, line] : lines)
		print("char[]", line.text.data());
	fflush(stdout);
	abort();
}

int main()
{
	static const int fills[] = {0, 1, 2, 17};
	std::map<long, Line> lines;

	for (int i = 0; i < 4; i++) {
		fill_sequences(server.fills[i], i, fills[i]);
		fill_maps(server.fills[i], i, fills[i]);
		if (fills[i])
			fill_pointers(server.fills[i], i);
	}
	fill_objects();
	for (int i = 0; i < 17; i++)
		lines[i] = {long_text(i)};
	work(lines);
	return (int)lines.size();
}
