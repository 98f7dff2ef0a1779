/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Redacts a small core: a table, a heap of a page and a half, one thread, a module.
 */
#include "hawk/redact/redact.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "synthetic_heap.h"
#include "test.h"
#include "target/arch_x86_64.h"

enum { HEAP_BYTES = 3 * 4096, PAGE = 4096 };

#define BLOCK  (SYNTHETIC_HEAP + 64)
#define OTHER  (SYNTHETIC_HEAP + 256)
#define MODULE UINT64_C(0x7e0000000000)

static const uint64_t NUMBER = UINT64_C(4111111111111111);

/** A core and its redacted copy. */
struct world {
	struct synthetic_heap *heap;
	char *path;
	char copy[128];
	struct hawk_findings findings;
	struct hawk_target *target; /**< of the copy */
	struct hawk_redact_result result;
};

static uint64_t *word(struct world *world, uint64_t address)
{
	return (uint64_t *)(world->heap->bytes + (address - SYNTHETIC_HEAP));
}

static void add_block(struct world *world, uint64_t start, uint64_t size, uint8_t kind)
{
	synthetic_heap_add_block(
		world->heap, (struct synthetic_block){.start = start, .size = size, .kind = kind});
}

static void begin(struct world *world)
{
	static const uint64_t frames[] = {0x401000, 0x402000};

	*world = (struct world){.heap = synthetic_heap_create(HEAP_BYTES)};
	synthetic_heap_add_trace(world->heap, frames, 2, 0, 0);
	hawk_findings_init(&world->findings);
}

static struct hawk_error *redact_target(struct world *world, struct hawk_target *target)
{
	struct hawk_file_sink_settings settings = {.path = world->copy};
	struct hawk_file_sink *sink;
	struct hawk_heap heap;
	struct hawk_graph graph;
	uint64_t bytes;
	struct hawk_error *err = hawk_file_sink_create(&settings, &sink);

	check(err);
	check(hawk_heap_load(target, NULL, &world->findings, &heap));
	check(hawk_graph_make(&heap, NULL, &world->findings, &graph));
	err = hawk_redact_core(&(struct hawk_redact_input){.heap = &heap, .graph = &graph}, sink,
			       &world->result);
	if (!err)
		err = hawk_file_sink_finish(sink, &bytes);
	if (!err)
		err = hawk_file_sink_commit(sink);
	hawk_file_sink_destroy(sink);
	hawk_graph_deinit(&graph);
	hawk_heap_deinit(&heap);
	return err;
}

/** Writes the core, redacts it and opens the copy. */
static void redact_core(struct world *world, const struct synthetic_core *core)
{
	struct hawk_target *target;

	world->path = synthetic_core_write(core, SIZE_MAX);
	snprintf(world->copy, sizeof(world->copy), "%s.redacted", world->path);
	check(hawk_target_open_core(world->path, &world->findings, &target));
	check(redact_target(world, target));
	hawk_target_close(target);
	check(hawk_target_open_core(world->copy, &world->findings, &world->target));
}

static void redact(struct world *world)
{
	struct synthetic_core *core = synthetic_heap_core(world->heap);

	redact_core(world, core);
	synthetic_core_destroy(core);
}

static uint64_t left(const struct world *world, uint64_t address)
{
	uint64_t value;

	check(hawk_target_read(world->target, address, &value, sizeof(value)));
	return value;
}

static void end(struct world *world)
{
	hawk_target_close(world->target);
	hawk_findings_deinit(&world->findings);
	synthetic_heap_destroy(world->heap);
	unlink(world->copy);
	synthetic_core_remove(world->path);
}

TEST(pointers_stay_and_numbers_and_text_go)
{
	struct world world;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, OTHER, 64, 0);
	*word(&world, BLOCK) = OTHER;
	*word(&world, BLOCK + 8) = NUMBER;
	memcpy(word(&world, BLOCK + 16), "a secret", 8);
	*word(&world, OTHER + 8) = OTHER + 20;
	redact(&world);
	assert_int_equal(left(&world, BLOCK), OTHER);
	assert_int_equal(left(&world, BLOCK + 8), 0);
	assert_int_equal(left(&world, BLOCK + 16), 0);
	assert_int_equal(left(&world, OTHER + 8), OTHER + 20);
	end(&world);
}

TEST(a_pointer_one_past_the_last_block_of_a_mapping_stays)
{
	struct world world;
	uint64_t last = SYNTHETIC_HEAP + HEAP_BYTES - 64;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, last, 64, 0);
	*word(&world, BLOCK) = last + 64;
	*word(&world, BLOCK + 8) = last + 72;
	redact(&world);
	assert_int_equal(left(&world, BLOCK), last + 64);
	assert_int_equal(left(&world, BLOCK + 8), 0);
	end(&world);
}

TEST(headers_of_live_and_of_freed_blocks_stay)
{
	struct world world;
	uint64_t live[2], dead;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, OTHER, 64, 0);
	synthetic_heap_kill_block(world.heap, OTHER);
	memcpy(live, word(&world, BLOCK - 16), sizeof(live));
	dead = *word(&world, OTHER - 8);
	redact(&world);
	assert_int_equal(left(&world, BLOCK - 16), live[0]);
	assert_int_equal(left(&world, BLOCK - 8), live[1]);
	assert_int_equal(left(&world, OTHER - 8), dead);
	end(&world);
}

TEST(a_length_stays_only_where_a_verdict_depends_on_it)
{
	struct world world;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, OTHER, 64, 0);
	*word(&world, OTHER) = 56;            /* of the rest: SQLite's */
	*word(&world, BLOCK) = OTHER + 8;     /* behind it */
	*word(&world, BLOCK + 8) = BLOCK + 8; /* behind what is no length of BLOCK's */
	*word(&world, BLOCK + 24) = 56;
	redact(&world);
	assert_int_equal(left(&world, OTHER), 56);
	assert_int_equal(left(&world, BLOCK + 24), 0);
	end(&world);
}

/* A read of more bytes than a kept word can say would keep none. */
TEST(control_bytes_of_a_hash_table_stay)
{
	enum { BUCKETS = 128, GROUP = 16 };
	const uint64_t controls = OTHER + BUCKETS; /* behind entries of a byte */
	struct world world;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, OTHER, 2 * BUCKETS + GROUP, 0);
	memset(word(&world, controls), '*', BUCKETS + GROUP);
	memset(word(&world, controls), 0xff, 8);
	memset(word(&world, controls + BUCKETS), 0xff, 8);
	*word(&world, BLOCK) = controls;
	redact(&world);
	assert_int_equal(left(&world, controls), UINT64_MAX);
	assert_int_equal(left(&world, controls + 64), UINT64_C(0x2a2a2a2a2a2a2a2a));
	assert_int_equal(left(&world, controls + BUCKETS), UINT64_MAX);
	end(&world);
}

TEST(zeros_do_not_explain_what_nothing_explained)
{
	struct world world;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, OTHER, 9,
		  0); /* eight letters; as zeros a length of nothing, and its end */
	memcpy(word(&world, OTHER), "password", 8);
	*word(&world, BLOCK) = OTHER + 8;
	redact(&world);
	assert_int_equal(left(&world, OTHER), UINT64_MAX);
	end(&world);
}

/* As zeros the links before what looks like an object of Python would be empty. */
TEST(a_pointer_among_bytes_that_become_ones_stays)
{
	const uint64_t type = OTHER + 256;
	struct world world;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	add_block(&world, OTHER, 64, 0);
	add_block(&world, type, 64, 0);
	*word(&world, BLOCK) = OTHER + 32;
	*word(&world, OTHER) = BLOCK;
	*word(&world, OTHER + 16) = NUMBER;
	*word(&world, OTHER + 24) = NUMBER;
	*word(&world, OTHER + 40) = type;
	*word(&world, type + 8) = type;
	redact(&world);
	assert_int_equal(left(&world, OTHER), BLOCK);
	assert_int_equal(left(&world, OTHER + 16), UINT64_MAX);
	assert_int_equal(left(&world, OTHER + 40), type);
	end(&world);
}

/** Redacts a block of new[] that begins with 7, and then `first`. */
static void redact_array(struct world *world, uint64_t first)
{
	uint8_t page[SYNTHETIC_PAGE_BYTES];
	struct synthetic_core *core;

	begin(world);
	add_block(world, BLOCK, 64, HAWK_KIND_NEW_ARRAY);
	*word(world, BLOCK) = 7;
	*word(world, BLOCK + 8) = first;
	core = synthetic_heap_core(world->heap);
	synthetic_elf_page(page, (struct synthetic_elf){0});
	synthetic_core_add_segment(core, (struct synthetic_segment){
						 .address = MODULE,
						 .bytes = page,
						 .dumped_bytes = sizeof(page),
						 .flags = SYNTHETIC_READ | SYNTHETIC_EXEC,
						 .path = "/lib/module",
					 });
	redact_core(world, core);
	synthetic_core_destroy(core);
}

TEST(the_number_of_objects_with_virtual_functions_stays)
{
	struct world world;

	redact_array(&world, MODULE + 0x100);
	assert_int_equal(left(&world, BLOCK), 7);
	end(&world);
}

TEST(the_number_of_other_objects_goes)
{
	struct world world;

	redact_array(&world, BLOCK);
	assert_int_equal(left(&world, BLOCK), 0);
	end(&world);
}

TEST(a_page_that_was_touched_still_is)
{
	struct world world;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	*word(&world, SYNTHETIC_HEAP + PAGE + 800) = NUMBER;
	redact(&world);
	assert_int_equal(left(&world, SYNTHETIC_HEAP + PAGE + 800), UINT64_MAX);
	for (uint64_t at = 0; at < PAGE; at += 8)
		assert_int_equal(left(&world, SYNTHETIC_HEAP + 2 * PAGE + at), 0);
	end(&world);
}

TEST(the_trace_table_stays)
{
	struct world world;
	uint8_t table[sizeof(struct synthetic_table)];

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	redact(&world);
	check(hawk_target_read(world.target, SYNTHETIC_TABLE, table, HAWK_TABLE_HEADER_BYTES));
	assert_memory_equal(table, world.heap->table, HAWK_TABLE_HEADER_BYTES);
	end(&world);
}

TEST(registers_keep_addresses_and_where_the_thread_is)
{
	uint64_t registers[HAWK_REGISTER_COUNT] = {
		[HAWK_RIP] = 0x4141414141414141,
		[HAWK_RSP] = 0x1234,
		[HAWK_RBX] = BLOCK,
		[HAWK_RDI] = NUMBER,
		[HAWK_RBP] = NUMBER,
		[HAWK_CS] = 0x33,
	};
	struct world world;
	struct synthetic_core *core;
	const struct hawk_thread *threads;
	size_t count;

	begin(&world);
	add_block(&world, BLOCK, 64, 0);
	core = synthetic_heap_core(world.heap);
	synthetic_core_add_thread(core, 17, 0, registers);
	redact_core(&world, core);
	synthetic_core_destroy(core);
	threads = hawk_target_threads(world.target, &count);
	assert_int_equal(count, 2);
	registers[HAWK_RDI] = registers[HAWK_RBP] = 0;
	assert_memory_equal(threads[1].registers, registers, sizeof(registers));
	assert_int_equal(threads[1].tid, 17);
	end(&world);
}

TEST(arguments_and_unknown_notes_go)
{
	struct world world;
	struct synthetic_core *core;
	char bytes[1 << 16];
	ssize_t size;
	int fd;

	begin(&world);
	core = synthetic_heap_core(world.heap);
	synthetic_core_add_process(core, 17, "program", "program --password=hunter2");
	synthetic_core_add_note(core, "LINUX", 0x777, "hunter2", 8);
	redact_core(&world, core);
	synthetic_core_destroy(core);
	assert_string_equal(hawk_target_process(world.target)->name, "synthetic");
	assert_string_equal(hawk_target_process(world.target)->arguments, "");
	fd = open(world.copy, O_RDONLY);
	size = read(fd, bytes, sizeof(bytes));
	assert_true(size > 0);
	assert_null(memmem(bytes, (size_t)size, "hunter2", 7));
	close(fd);
	end(&world);
}

TEST(the_copy_says_what_it_is_and_when_the_process_died)
{
	const struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
	struct world world;
	struct hawk_target *target;

	begin(&world);
	world.path = synthetic_heap_write(world.heap);
	snprintf(world.copy, sizeof(world.copy), "%s.redacted", world.path);
	assert_int_equal(utimensat(AT_FDCWD, world.path, times, 0), 0);
	check(hawk_target_open_core(world.path, &world.findings, &target));
	assert_false(hawk_target_process(target)->redacted);
	check(redact_target(&world, target));
	hawk_target_close(target);
	check(hawk_target_open_core(world.copy, &world.findings, &world.target));
	assert_true(hawk_target_process(world.target)->redacted);
	assert_int_equal(hawk_target_process(world.target)->end.file_ns,
			 UINT64_C(1700000000) * 1000000000);
	end(&world);
}

TEST(segments_stay_as_they_were_in_every_layout)
{
	const struct synthetic_layout layouts[] = {
		{.notes_last = true},
		{.unaligned = true},
		{.extended_count = true},
		{.descending = true},
	};

	for (size_t i = 0; i < COUNT_OF(layouts); i++) {
		struct world world;
		struct synthetic_core *core;
		const struct hawk_mapping *mappings;
		size_t count;

		begin(&world);
		add_block(&world, BLOCK, 64, 0);
		*word(&world, BLOCK) = BLOCK + 8;
		core = synthetic_heap_core(world.heap);
		synthetic_core_set_layout(core, layouts[i]);
		redact_core(&world, core);
		synthetic_core_destroy(core);
		mappings = hawk_target_mappings(world.target, &count);
		assert_int_equal(count, 3);
		for (size_t j = 0; j < count; j++)
			assert_int_equal(mappings[j].present_bytes,
					 mappings[j].end - mappings[j].start);
		assert_int_equal(left(&world, BLOCK), BLOCK + 8);
		for (size_t j = 0; j < world.findings.count; j++)
			assert_null(strstr(world.findings.items[j].key, "segment"));
		end(&world);
	}
}

/** A core with one thread, built and then damaged by `damage`. */
static void redact_damaged(struct world *world, struct synthetic_layout layout,
			   void (*damage)(uint8_t *bytes, size_t size))
{
	struct synthetic_core *core;
	struct hawk_target *target;
	uint8_t *bytes;
	size_t size;

	begin(world);
	add_block(world, BLOCK, 64, 0);
	core = synthetic_heap_core(world->heap);
	synthetic_core_set_layout(core, layout);
	bytes = synthetic_core_build(core, &size);
	damage(bytes, size);
	world->path = synthetic_file_write(bytes, size);
	snprintf(world->copy, sizeof(world->copy), "%s.redacted", world->path);
	check(hawk_target_open_core(world->path, &world->findings, &target));
	check(redact_target(world, target));
	hawk_target_close(target);
	check(hawk_target_open_core(world->copy, &world->findings, &world->target));
	free(bytes);
	synthetic_core_destroy(core);
}

static void lose_count(uint8_t *bytes, size_t size)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)bytes;

	assert_int_equal(header->e_phnum, PN_XNUM);
	memset(bytes + header->e_shoff, 0, size - header->e_shoff);
}

TEST(a_core_that_lost_its_number_of_segments_keeps_them)
{
	struct world world;
	size_t count;

	redact_damaged(&world, (struct synthetic_layout){.extended_count = true}, lose_count);
	hawk_target_mappings(world.target, &count);
	assert_int_equal(count, 3);
	hawk_target_threads(world.target, &count);
	assert_int_equal(count, 1);
	end(&world);
}

/* The heap claims the notes as well. */
static void claim_notes(uint8_t *bytes, size_t size)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	Elf64_Phdr *programs = (Elf64_Phdr *)(bytes + header->e_phoff);
	Elf64_Phdr *heap = NULL, *notes = NULL;

	(void)size;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (programs[i].p_type == PT_NOTE)
			notes = &programs[i];
		else if (programs[i].p_vaddr == SYNTHETIC_HEAP)
			heap = &programs[i];
	}
	assert_non_null(heap);
	assert_non_null(notes);
	heap->p_offset = notes->p_offset - 16;
}

TEST(threads_stay_where_memory_claims_their_notes)
{
	struct world world;
	size_t count;

	redact_damaged(&world, (struct synthetic_layout){0}, claim_notes);
	hawk_target_threads(world.target, &count);
	assert_int_equal(count, 1);
	end(&world);
}
