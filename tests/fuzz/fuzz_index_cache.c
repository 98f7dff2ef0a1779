/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * An index cache with arbitrary changes and right hashes: taken or refused, and asked about.
 *
 * The file is that of a small heap, with every part; where a byte is left of the input, of another
 * one. Input: changes of 8 bytes each: section, what
 * to do, place (2 bytes), value (4 bytes). What to do: 0 = put 32 bits there, 1 = put 64 (all ones
 * where the value is), 2 = add to 32, 3 = put a byte, 4 = make the section so many bytes long, 5 =
 * put its offset, 6 = flip parts, 7 = cut the file off. Sections that hold something of every block
 * are believed (graph_cache_check.c), so that their bytes stay, but their lengths do not.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "graph_cache_format.h"
#include "hawk_schema.h"
#include "synthetic_heap.h"

enum {
	HEAP_BYTES = 8192,
	PLAIN = 91,
	INNER = 2,                          /* in one block behind the plain ones, carved up */
	BLOCKS = PLAIN + INNER + INNER + 1, /* with what is left of it */
	TRACES = 5,
	CHANGE_BYTES = 8,
	CHANGES_MAX = 64,
	MADE = HAWK_PART_RETAINED | HAWK_PART_SITES | HAWK_PART_PATHS,
};

static const uint64_t ROOTS = UINT64_C(0x600000000000);

/** A core, and the file that was made of it; made once, and kept. The second one has a block that
 * was carved up; such a file says nothing of places. */
struct world {
	struct hawk_findings findings;
	struct hawk_target *target;
	struct hawk_core_identity identity;
	uint8_t *bytes;
	size_t size;
};
static struct world worlds[2], *world;

static bool is_carved(void)
{
	return world == &worlds[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(struct hawk_error *err)
{
	if (err)
		abort();
}

static uint64_t block_address(unsigned i)
{
	return SYNTHETIC_HEAP + 64 + (uint64_t)i * 80;
}

/** A tree of blocks with a ring and pointers to the inside; every seventh is lost. */
static void fill_block(struct synthetic_heap *heap, unsigned i)
{
	uint64_t words[6] = {0};

	if (2 * i + 2 < (is_carved() ? PLAIN : BLOCKS)) {
		words[0] = block_address(2 * i + 1);
		words[2] = block_address(2 * i + 2) + (i % 3 ? 0 : 16);
	}
	words[3] = i % 5 ? 0 : block_address(i / 2);
	words[4] = i;
	if (i % 7 == 6)
		words[0] = words[2] = 0;
	synthetic_heap_add_block(heap, (struct synthetic_block){
					       .start = block_address(i),
					       .size = i % 3 ? sizeof(words) : 24,
					       .trace = 1 + i % TRACES,
					       .birth = (uint8_t)i,
				       });
	memcpy(heap->bytes + (block_address(i) - heap->address), words, i % 3 ? sizeof(words) : 24);
}

static void add_carved(struct synthetic_heap *heap)
{
	for (unsigned i = PLAIN; i <= PLAIN + INNER; i++)
		synthetic_heap_add_block(heap, (struct synthetic_block){
						       .start = block_address(i),
						       .size = i == PLAIN ? 320 : 48,
						       .kind = i == PLAIN ? 0 : HAWK_KIND_POOL,
						       .trace = 1 + i % TRACES,
						       .birth = (uint8_t)i,
					       });
}

static char *write_core(void)
{
	struct synthetic_heap *heap = synthetic_heap_create(HEAP_BYTES);
	const uint64_t roots[4] = {block_address(0), 0, block_address(3) + 8, block_address(5)};
	struct synthetic_core *core;
	uint8_t *bytes;
	size_t size;
	char *path;

	for (uint64_t i = 0; i < TRACES; i++)
		synthetic_heap_add_trace(heap, (const uint64_t[]){0x401000 + i, 0x402000}, 2, 0, 0);
	for (unsigned i = 0; i < (is_carved() ? PLAIN : BLOCKS); i++)
		fill_block(heap, i);
	if (is_carved())
		add_carved(heap);
	core = synthetic_heap_core(heap);
	synthetic_core_add_memory(core, ROOTS, roots, sizeof(roots));
	bytes = synthetic_core_build(core, &size);
	path = synthetic_file_write(bytes, size);
	free(bytes);
	synthetic_core_destroy(core);
	synthetic_heap_destroy(heap);
	return path;
}

static uint32_t *make_groups(const struct hawk_block_graph *graph)
{
	uint32_t *groups = calloc(graph->roots.count + 1, sizeof(*groups));

	if (!groups)
		abort();
	for (size_t i = 0; i < graph->roots.count; i++)
		groups[i] = (uint32_t)(i % 2);
	return groups;
}

/** Everything that the child of a command adds. */
static void make_parts(struct hawk_block_graph *graph, int fd)
{
	uint32_t *groups = make_groups(graph);
	bool fits;

	must(hawk_schema_keep(graph));
	if (!is_carved()) {
		must(hawk_pointer_places_make(graph->target, &graph->index, &graph->edges,
					      &graph->roots, 1, &graph->places));
		graph->parts |= HAWK_PART_PLACES;
	}
	must(hawk_kept_types_make(graph, &graph->types));
	graph->parts |= HAWK_PART_TYPES;
	must(hawk_kept_leaks_need(graph));
	must(hawk_kept_evidence_need(graph));
	must(hawk_tree_folds_need_ages(graph));
	must(hawk_tree_folds_need_orders(graph, groups, UINT32_MAX));
	hawk_block_graph_note_folds(graph);
	must(hawk_graph_cache_save(fd, &world->identity, graph, &world->findings));
	must(hawk_tree_folds_need_start(graph, groups, UINT32_MAX));
	hawk_block_graph_note_folds(graph);
	must(hawk_graph_cache_add(fd, &world->identity, graph, &world->findings, &fits));
	if (!fits)
		abort();
	free(groups);
}

static void keep_file(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);

	world->size = (size_t)size;
	world->bytes = malloc(world->size);
	if (size <= 0 || !world->bytes || pread(fd, world->bytes, world->size, 0) != size)
		abort();
}

static void make_world(void)
{
	struct hawk_block_graph graph = {.threads = 1};
	int fd = memfd_create("index", MFD_CLOEXEC);
	struct hawk_heap heap;
	char *path = write_core();

	hawk_findings_init(&world->findings);
	must(hawk_target_open_core(path, &world->findings, &world->target));
	synthetic_core_remove(path);
	must(hawk_heap_load_graph(world->target, &world->findings, MADE, &graph, &heap));
	if (fd < 0 || graph.index.count != BLOCKS || !graph.roots.count)
		abort();
	make_parts(&graph, fd);
	keep_file(fd);
	close(fd);
	hawk_block_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
}

/** Sections whose numbers are looked at before they are used. */
static bool is_checked(unsigned section)
{
	switch (section) {
	case CACHE_GRANULES:
	case CACHE_SIZES:
	case CACHE_TRACES:
	case CACHE_HEADS:
	case CACHE_RECORDS:
	case CACHE_CHUNK_ADDRESSES:
	case CACHE_OFFSETS:
	case CACHE_EDGES:
	case CACHE_KINDS:
	case CACHE_DOMINATOR_BLOCKS:
	case CACHE_DOMINATORS:
	case CACHE_SUBTREES:
	case CACHE_NUMBERS:
	case CACHE_PATHS_ORDER:
	case CACHE_PATHS_FROM:
	case CACHE_PATHS_FOUND:
	case CACHE_PLACE_WORDS:
	case CACHE_PLACES_SHARED:
		return false;
	default:
		return true;
	}
}

static void put(uint8_t *bytes, uint64_t size, uint64_t place, const void *value, size_t count)
{
	if (size >= count)
		memcpy(bytes + place % (size - count + 1), value, count);
}

static void change(uint8_t *bytes, size_t *size, struct cache_header *header, const uint8_t *data)
{
	unsigned id = data[0] % CACHE_SECTIONS;
	struct cache_section *section = &header->sections[id];
	bool inside =
		section->offset <= world->size && section->bytes <= world->size - section->offset;
	uint8_t *at = bytes + (inside ? section->offset : 0);
	uint64_t room = inside && is_checked(id) ? section->bytes : 0;
	uint64_t place = (uint64_t)data[2] | (uint64_t)data[3] << 8;
	uint64_t wide = 0;
	uint32_t value;

	memcpy(&value, data + 4, sizeof(value));
	switch (data[1] % 8) {
	case 0:
		put(at, room, place * 4, &value, sizeof(value));
		break;
	case 1:
		wide = (uint64_t)value << 32 | value;
		put(at, room, place * 4, &wide, sizeof(wide));
		break;
	case 2:
		if (room >= sizeof(value)) {
			uint32_t there;
			uint8_t *word = at + place * 4 % (room - sizeof(value) + 1);

			memcpy(&there, word, sizeof(there));
			there += value;
			memcpy(word, &there, sizeof(there));
		}
		break;
	case 3:
		put(at, room, place, &value, 1);
		break;
	case 4:
		section->bytes = value;
		break;
	case 5:
		section->offset = value;
		break;
	case 6:
		header->parts ^= value;
		break;
	default:
		*size = value % world->size;
	}
}

/** The header that counts, with the hashes of what there is now. */
static void seal(uint8_t *bytes, struct cache_header *header)
{
	for (unsigned i = 0; i < CACHE_SECTIONS; i++) {
		struct cache_section *section = &header->sections[i];

		if (section->offset <= world->size &&
		    section->bytes <= world->size - section->offset)
			section->hash = XXH3_64bits(bytes + section->offset, section->bytes);
	}
	header->hash = XXH3_64bits(header, offsetof(struct cache_header, hash));
	memcpy(bytes + header->generation % CACHE_HEADERS * CACHE_HEADER_BYTES, header,
	       sizeof(*header));
}

static void ask_leaks(struct hawk_block_graph *graph)
{
	struct hawk_leaks leaks;

	if (!graph->leaks || !(graph->parts & HAWK_PART_ROOTS))
		return;
	must(hawk_kept_leaks_take(graph, ~0u, NULL, &leaks));
	for (size_t i = 0; i < leaks.count; i++)
		if (leaks.records[i].example >= graph->index.count)
			abort();
	hawk_leaks_deinit(&leaks);
}

static bool is_of_second_site(const void *context, uint32_t trace)
{
	const struct hawk_heap *heap = context;

	return trace < heap->trace_count && heap->site_of_trace[trace] == 1;
}

/** Of blocks that are not large, and of one site. */
static void ask_evidence(struct hawk_block_graph *graph)
{
	const struct hawk_choice_test test = {.size_high = 40, .decides = true};
	const struct hawk_choice_wish wishes[] = {
		{.test = &test},
		{.test = &test, .trace = is_of_second_site, .context = graph->heap},
	};

	if (!hawk_kept_evidence_fits(graph) || !(graph->parts & HAWK_PART_ROOTS))
		return;
	for (unsigned i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct hawk_leaks leaks;

		must(hawk_kept_evidence_take(graph, ~0u, &wishes[i], &leaks));
		for (size_t j = 0; j < leaks.count; j++)
			if (leaks.records[j].example >= graph->index.count)
				abort();
		hawk_leaks_deinit(&leaks);
	}
}

static void ask_schemas(const struct hawk_block_graph *graph)
{
	for (uint32_t i = 0; i < graph->heap->site_count && i < BLOCKS; i++) {
		struct hawk_schema schema;
		struct hawk_error *err;

		if (hawk_schema_find_kept(graph, i, &schema, &err))
			hawk_schema_deinit(&schema);
		must(err);
	}
}

/** Trees of all blocks, of a site, of every third block. */
static void ask_trees(struct hawk_block_graph *graph)
{
	const enum hawk_tree_fold_sort sorts[] = {HAWK_FOLD_RETAINED, HAWK_FOLD_RETAINED_BOTH,
						  HAWK_FOLD_PATHS};
	uint64_t *bits = calloc((graph->heap->site_count + BLOCKS) / 64 + 1, sizeof(*bits));
	uint32_t *groups = make_groups(graph);

	if (!bits)
		abort();
	for (unsigned i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		struct hawk_error *err = NULL;
		struct hawk_site_tree tree;

		bits[0] = 2;
		if (hawk_site_tree_of_sites(graph, sorts[i], groups, NULL, NULL, &tree, &err))
			hawk_site_tree_deinit(&tree);
		must(err);
		if (hawk_site_tree_of_sites(graph, sorts[i], groups, bits, NULL, &tree, &err))
			hawk_site_tree_deinit(&tree);
		must(err);
		bits[0] = UINT64_C(0x1249249249249249);
		if (hawk_site_tree_of_chosen(graph, sorts[i], groups, bits, NULL, &tree, &err))
			hawk_site_tree_deinit(&tree);
		hawk_error_destroy(err); /* an order that is none */
	}
	free(groups);
	free(bits);
}

/** How many parts a block has, from this one on. */
static uint32_t count_parts(const struct hawk_block_index *index, uint32_t part)
{
	uint32_t count = 0;

	for (; part != HAWK_BLOCK_NOWHERE; part = hawk_block_index_next_part(index, part))
		count++;
	return count;
}

static void ask(struct hawk_block_graph *graph)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < graph->index.count; i++) {
		uint32_t site = hawk_block_graph_site(graph, i);

		sum += count_parts(&graph->index, i);

		if (site != UINT32_MAX)
			sum += graph->heap->sites[site].inuse_objects;
	}
	for (size_t i = 0; i < graph->sites.edge_count; i++) {
		const struct hawk_site_edge *edge = &graph->sites.edges[i];

		for (uint32_t k = 0; k < edge->place_count; k++)
			sum += graph->sites.places[edge->first_place + k].counts.pointers;
	}
	*(volatile uint64_t *)&sum = sum;
	ask_leaks(graph);
	ask_evidence(graph);
	ask_schemas(graph);
	/* Groups are one for each root. */
	if (graph->parts & HAWK_PART_ROOTS)
		ask_trees(graph);
}

static void load(int fd)
{
	struct hawk_block_graph graph = {.threads = 1};
	struct hawk_graph_cache cache = {0};
	struct hawk_findings findings;
	struct hawk_heap heap = {0};
	struct hawk_error *err;

	hawk_findings_init(&findings);
	if (hawk_graph_cache_load(fd, &world->identity, world->target, &findings, ~0u, &cache,
				  &graph, &heap, &err)) {
		must(err);
		ask(&graph);
	}
	hawk_error_destroy(err);
	hawk_block_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
	hawk_graph_cache_unmap(&cache);
	hawk_findings_deinit(&findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cache_reader reader;
	struct cache_header header;
	uint8_t *bytes;
	int fd;

	world = &worlds[size % CHANGE_BYTES != 0];
	if (!world->bytes)
		make_world();
	bytes = malloc(world->size);
	fd = memfd_create("index", MFD_CLOEXEC);
	if (!bytes || fd < 0)
		abort();
	memcpy(bytes, world->bytes, world->size);
	reader = (struct cache_reader){.bytes = bytes, .size = world->size};
	if (!cache_find_header(&reader, &world->identity, &header))
		abort();
	size_t length = world->size;
	for (size_t at = 0; at + CHANGE_BYTES <= size && at < CHANGES_MAX * CHANGE_BYTES;
	     at += CHANGE_BYTES)
		change(bytes, &length, &header, data + at);
	seal(bytes, &header);
	if (write(fd, bytes, length) != (ssize_t)length)
		abort();
	free(bytes);
	load(fd);
	close(fd);
	return 0;
}
