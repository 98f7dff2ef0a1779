/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Containers of libstdc++. Their members have pointers to bases of nodes, or to raw storage; the
 * value's type stands among the template arguments. Offsets of members come from DWARF; the nodes'
 * from the value's alignment, as the compiler lays them out.
 */
#include <string.h>

#include "hawk/base/cleanup.h"
#include "layouts.h"

enum { PATHS_MAX = 5 };

struct container {
	struct hawk_layouts *layouts;
	uint32_t layout; /**< that gets the links */
	const struct hawk_dwarf_type *type;
	uint64_t offset; /**< of the container in the layout */
	uint32_t number; /**< of the container's type, with all around it; 0 = none */
};

/* A node: pointers to nodes, a value, and what follows it. */
struct node {
	const char *name;
	uint64_t header_bytes;
	uint64_t trailer_bytes;
	uint64_t links[3]; /**< offsets of pointers to further nodes */
	size_t link_count;
	size_t shortcuts_from; /**< the rest lead to nodes that others lead to as well */
};

static uint64_t up(uint64_t bytes, uint64_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}

/* Returns "NAME<VALUE>", as names are demangled; NULL = out of memory. */
static const char *node_name(struct hawk_layouts *layouts, const char *name,
			     const struct hawk_dwarf_type *value, const char *arguments)
{
	CLEANUP(text) struct hawk_text text = {0};

	hawk_text_printf(&text, "%s<", name);
	hawk_dwarf_append_name(layouts->symbols, value, &text);
	hawk_text_puts(&text, arguments);
	if (!text.failed && text.bytes[text.size - 1] == '>')
		hawk_text_puts(&text, " ");
	hawk_text_puts(&text, ">");
	return hawk_layouts_name(layouts, &text);
}

/* Adds the layout of nodes; returns its number, 0 = none. Its value's links are added later: a
 * value may hold a container of its own type. */
static uint32_t make_node(const struct container *container, const struct node *node,
			  const struct hawk_dwarf_type *value, const char *arguments)
{
	struct hawk_layouts *layouts = container->layouts;
	uint64_t alignment = hawk_dwarf_alignment(layouts->symbols, value);
	uint64_t trailer = node->trailer_bytes;
	struct hawk_layout layout = {.name = node_name(layouts, node->name, value, arguments),
				     .type = value,
				     .type_at = up(node->header_bytes, alignment),
				     .is_node = true};
	uint32_t number;

	layout.bytes = up(up(layout.type_at + value->bytes, trailer ? trailer : 1) + trailer,
			  alignment > 8 ? alignment : 8);
	if (layout.bytes <= value->bytes) /* a foreign size or alignment went round */
		return 0;
	number = layout.name ? hawk_layouts_add(layouts, &layout) : 0;
	for (size_t i = 0; number && i < node->link_count; i++)
		hawk_layouts_add_link(layouts, number,
				      &(struct hawk_link){.kind = HAWK_LINK_POINTER,
							  .target = number,
							  .container = container->number,
							  .is_shortcut = i >= node->shortcuts_from,
							  .at = {node->links[i]}});
	return number;
}

/* Fills offsets of members by their paths; false = one is missing. */
static bool find(const struct container *container, const char *const *paths, size_t count,
		 uint64_t *ret)
{
	struct hawk_dwarf_member member;

	for (size_t i = 0; i < count; i++) {
		if (!hawk_dwarf_member_at(container->layouts->symbols, container->type, paths[i],
					  &member))
			return false;
		ret[i] = container->offset + member.offset;
	}
	return true;
}

static const struct hawk_dwarf_type *argument(const struct container *container, const char *name)
{
	const struct hawk_dwarf_type *type =
		hawk_dwarf_argument(container->layouts->symbols, container->type, name);

	return type && type->bytes ? type : NULL;
}

static void add_link(const struct container *container, struct hawk_link *link)
{
	link->container = container->number;
	hawk_layouts_add_link(container->layouts, container->layout, link);
}

/* Adds a link to objects of type `value`, unless that is incomplete. */
static void add_link_to(const struct container *container, struct hawk_link *link,
			const struct hawk_dwarf_type *value)
{
	link->target = hawk_layouts_of(container->layouts, value);
	if (link->target)
		add_link(container, link);
}

static uint32_t *node_of(const struct container *container)
{
	return &container->layouts->containers[container->number].node;
}

/* Adds a pointer to the first node. `paths`: it, the nodes' number and a hash table's array, up to
 * the first NULL. */
static bool add_nodes(const struct container *container, const char *const paths[3],
		      const struct hawk_dwarf_type *value, const struct node *node,
		      const char *arguments)
{
	struct hawk_link link = {.kind = HAWK_LINK_NODES,
				 .count = !paths[1]   ? 1
					  : !paths[2] ? 2
						      : 3};

	if (!value || !find(container, paths, link.count, link.at))
		return false;
	link.target = *node_of(container);
	if (!link.target)
		link.target = make_node(container, node, value, arguments);
	*node_of(container) = link.target;
	if (link.target)
		add_link(container, &link);
	return link.target;
}

/* Adds another pointer to nodes, which have been added. */
static void add_shortcut(const struct container *container, const char *path)
{
	struct hawk_link link = {
		.kind = HAWK_LINK_NODES, .is_shortcut = true, .target = *node_of(container)};

	if (find(container, &path, 1, link.at))
		add_link(container, &link);
}

static bool add_vector(const struct container *container)
{
	static const char *const paths[] = {"_M_impl._M_start", "_M_impl._M_finish",
					    "_M_impl._M_end_of_storage"};
	struct hawk_link link = {.kind = HAWK_LINK_SPAN};
	const struct hawk_dwarf_type *value = argument(container, "_Tp");
	struct hawk_dwarf_member start;

	if (!value || !find(container, paths, 3, link.at) ||
	    !hawk_dwarf_member_at(container->layouts->symbols, container->type, paths[0], &start) ||
	    start.type->kind != HAWK_DWARF_POINTER) /* bits */
		return false;
	add_link_to(container, &link, value);
	return true;
}

static bool add_string(const struct container *container)
{
	static const char *const paths[] = {"_M_dataplus._M_p", "_M_string_length"};
	struct hawk_link link = {.kind = HAWK_LINK_TEXT};
	const struct hawk_dwarf_type *value = argument(container, "_CharT");

	if (!value || !find(container, paths, 2, link.at))
		return false;
	add_link_to(container, &link, value);
	return true;
}

static bool add_tree(const struct container *container)
{
	static const struct node node = {"std::_Rb_tree_node", 32, 0, {16, 24, 8}, 3, 2};
	static const char *const paths[3] = {"_M_impl._M_header._M_parent",
					     "_M_impl._M_node_count"};

	if (!add_nodes(container, paths, argument(container, "_Val"), &node, ""))
		return false;
	add_shortcut(container, "_M_impl._M_header._M_left");
	add_shortcut(container, "_M_impl._M_header._M_right");
	return true;
}

static bool add_list(const struct container *container)
{
	static const struct node node = {"std::_List_node", 16, 0, {0, 8}, 2, 1};
	static const char *const paths[3] = {"_M_impl._M_node._M_next", "_M_impl._M_node._M_size"};

	if (!add_nodes(container, paths, argument(container, "_Tp"), &node, ""))
		return false;
	add_shortcut(container, "_M_impl._M_node._M_prev");
	return true;
}

static bool add_forward_list(const struct container *container)
{
	static const struct node node = {"std::_Fwd_list_node", 8, 0, {0}, 1, 1};
	static const char *const paths[3] = {"_M_impl._M_head._M_next"};

	return add_nodes(container, paths, argument(container, "_Tp"), &node, "");
}

/* The first flag of the traits tells whether nodes keep hash codes. */
static bool add_hash_table(const struct container *container)
{
	static const char *const paths[3] = {"_M_before_begin._M_nxt", "_M_element_count",
					     "_M_buckets"};
	static const struct node cached = {"std::__detail::_Hash_node", 8, 8, {0}, 1, 1};
	static const struct node plain = {"std::__detail::_Hash_node", 8, 0, {0}, 1, 1};
	bool keeps_code = strstr(container->type->name, "_Hashtable_traits<true");
	struct hawk_link link = {.kind = HAWK_LINK_POINTER};
	struct hawk_link entry = {.kind = HAWK_LINK_POINTER, .is_shortcut = true};
	const struct hawk_layout table = {.name = "std::__detail::_Hash_node_base*",
					  .bytes = 8,
					  .is_node = true,
					  .is_table = true};

	if (!add_nodes(container, paths, argument(container, "_Value"),
		       keeps_code ? &cached : &plain, keeps_code ? ", true" : ", false") ||
	    !find(container, &paths[2], 1, link.at))
		return false;
	entry.target = *node_of(container);
	entry.container = container->number;
	link.target = hawk_layouts_add(container->layouts, &table);
	if (link.target) {
		hawk_layouts_add_link(container->layouts, link.target, &entry);
		add_link(container, &link);
	}
	return true;
}

static bool add_deque(const struct container *container)
{
	static const char *const paths[] = {"_M_impl._M_map", "_M_impl._M_start._M_node",
					    "_M_impl._M_finish._M_node", "_M_impl._M_start._M_cur",
					    "_M_impl._M_finish._M_cur"};
	struct hawk_link link = {.kind = HAWK_LINK_DEQUE};
	const struct hawk_dwarf_type *value = argument(container, "_Tp");

	if (!value || !find(container, paths, PATHS_MAX, link.at))
		return false;
	add_link_to(container, &link, value);
	return true;
}

/* The object may be gone: its block may hold another one. */
static bool add_weak_pointer(const struct container *container)
{
	struct hawk_dwarf_member count;

	if (!hawk_dwarf_member_at(container->layouts->symbols, container->type, "_M_refcount",
				  &count))
		return false;
	hawk_layouts_add_object(container->layouts, container->layout, count.type,
				container->offset + count.offset);
	return true;
}

/* The block of make_shared(). */
static bool add_shared_block(const struct container *container)
{
	static const char *const paths[] = {"_M_impl._M_storage"};
	const struct hawk_dwarf_type *value = argument(container, "_Tp");
	uint64_t at;

	if (!value || !find(container, paths, 1, &at))
		return false;
	hawk_layouts_add_object(container->layouts, container->layout, value, at);
	if (!container->offset) { /* names of members are the object's */
		container->layouts->items[container->layout].type = value;
		container->layouts->items[container->layout].type_at = at;
	}
	return true;
}

static bool add_optional(const struct container *container)
{
	static const char *const paths[] = {"_M_payload", "_M_engaged"};
	struct hawk_link link = {.kind = HAWK_LINK_IF};
	const struct hawk_dwarf_type *value = argument(container, "_Tp");

	if (!value || !find(container, paths, 2, link.at))
		return false;
	add_link_to(container, &link, value);
	return true;
}

static const struct rule {
	const char *name; /**< without std:: and inline namespaces */
	bool (*add)(const struct container *container);
	bool is_container;
	const char *inner; /**< the member that is meant; NULL = the object itself */
} rules[] = {
	{"vector", add_vector, true, NULL},
	{"basic_string", add_string, true, NULL},
	{"map", add_tree, true, "_M_t"},
	{"multimap", add_tree, true, "_M_t"},
	{"set", add_tree, true, "_M_t"},
	{"multiset", add_tree, true, "_M_t"},
	{"list", add_list, true, NULL},
	{"forward_list", add_forward_list, true, NULL},
	{"unordered_map", add_hash_table, true, "_M_h"},
	{"unordered_multimap", add_hash_table, true, "_M_h"},
	{"unordered_set", add_hash_table, true, "_M_h"},
	{"unordered_multiset", add_hash_table, true, "_M_h"},
	{"deque", add_deque, true, NULL},
	{"__weak_ptr", add_weak_pointer, false, NULL},
	{"_Sp_counted_ptr_inplace", add_shared_block, false, NULL},
	{"_Optional_payload_base", add_optional, false, NULL},
};

static const struct rule *find_rule(const char *name)
{
	size_t size;

	if (strncmp(name, "std::", strlen("std::")) != 0)
		return NULL;
	name += strlen("std::");
	if (!strncmp(name, "__cxx11::", strlen("__cxx11::")))
		name += strlen("__cxx11::");
	size = strcspn(name, "<");
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strlen(rules[i].name) == size && !memcmp(rules[i].name, name, size))
			return &rules[i];
	return NULL;
}

bool hawk_containers_add(struct hawk_layouts *layouts, uint32_t layout,
			 const struct hawk_dwarf_type *type, uint64_t offset)
{
	const struct rule *rule = find_rule(type->name);
	struct container container = {layouts, layout, type, offset, 0};
	struct hawk_dwarf_member inner;

	if (!rule)
		return false;
	if (rule->inner) {
		if (!hawk_dwarf_member_at(layouts->symbols, type, rule->inner, &inner))
			return false;
		container.type = inner.type;
		container.offset += inner.offset;
	}
	if (rule->is_container) {
		container.number = hawk_layouts_container(layouts, type);
		if (!container.number)
			return false;
	}
	return rule->add(&container);
}
