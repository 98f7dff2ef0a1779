/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Rules and the module log while a module is unloaded and another comes to lie at its place.
 */
#include <link.h>
#include <sys/mman.h>

#include "model_table.h"
#include "scenarios.h"

#include "hooks/record.h"
#include "unwind/rules.h"
#include "table/threads.h"

enum {
	MODULE_BYTES = 1 << 19,
	PC_OFFSET = 64,
	CALL_OPCODE = 0xe8,
	CALL_BYTES = 5,
	WAY_PCS = HAWK_RULES_WAYS + 2,
	MANY_RULES = 1 << 20, /**< more than any table is meant for */
};

static char old_path[] = "/lib/old.so", new_path[] = "/lib/new.so";
static struct link_map old_map = {.l_name = old_path}, new_map = {.l_name = new_path};

static unsigned char *code; /**< of whatever module lies there */
static uint64_t pc;

/** The module lies there from before until `unloading`, the other one from `loaded` on. */
static uint32_t unloading, loaded;

static void set_up(void)
{
	model_table_set_up("");
	/* not within the program, which is a module of its own */
	code = mmap(NULL, MODULE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		model_fail("no memory for a module");
	pc = (uint64_t)code + PC_OFFSET;
	code[PC_OFFSET - CALL_BYTES] = CALL_OPCODE; /* a return address, in the old module only */
	old_map.l_addr = new_map.l_addr = (ElfW(Addr))code;
	model_kernel_module = (struct model_module){code, MODULE_BYTES, &old_map};
}

static void set_up_known(void)
{
	struct hawk_code_range range;

	set_up();
	if (!hawk_modules_find(pc, &range))
		model_fail("the module is not found");
}

/** dlclose() and dlopen(): the loader takes the module out of its index, unmaps it, frees its
 * link_map (upon which the tracer raises the epoch), and later maps another one. */
static void reload(void)
{
	__atomic_store_n(&unloading, 1, __ATOMIC_SEQ_CST);
	model_touch(&model_kernel_module, sizeof(model_kernel_module));
	model_kernel_module.bytes = 0;
	hawk_unwind_invalidate();
	code[PC_OFFSET - CALL_BYTES] = 0;
	model_touch(&model_kernel_module, sizeof(model_kernel_module));
	model_kernel_module = (struct model_module){code, MODULE_BYTES, &new_map};
	__atomic_store_n(&loaded, 1, __ATOMIC_SEQ_CST);
}

static void make_rule(void)
{
	hawk_rules_make(pc, false);
}

/** The second time into the next table, when the first one has grown. */
static void make_rule_twice(void)
{
	hawk_rules_make(pc, false);
	hawk_rules_make(pc, false);
}

static void reload_and_make_rule(void)
{
	uint32_t rule;

	reload();
	rule = hawk_rules_make(pc, false);
	MODEL_CHECK(hawk_rule_kind(rule) == HAWK_RULE_OUTERMOST, "the new module's rule is %u",
		    rule);
}

/** A stale rule may be there between a store and the look at the epoch after it, never for good;
 * also not behind another one for the same program counter, which may be overwritten. */
static void no_stale_rule_stays(void)
{
	uint64_t mixed = hawk_rules_mix(pc, false);
	const uint64_t *set = hawk_rules_set(hawk_rules_table, mixed);

	for (unsigned i = 0; i < HAWK_RULES_WAYS; i++) {
		uint64_t word = set[i] ^ hawk_rules_tag(mixed);

		MODEL_CHECK(word >> HAWK_RULE_BITS ||
				    hawk_rule_kind((uint32_t)word) == HAWK_RULE_OUTERMOST,
			    "rule %u of the old module is left", (uint32_t)word);
	}
}

static uint64_t way_pcs[WAY_PCS];

static bool is_return_address(unsigned i)
{
	return i % 2;
}

/** The next rule makes the table grow. */
static void set_up_growth(void)
{
	set_up_known();
	hawk_rules_stored = MANY_RULES;
}

/** More program counters than a set has ways. */
static void set_up_ways(void)
{
	unsigned count = 0;
	uint64_t set;

	set_up();
	set = hawk_rules_mix(pc, false) >> (64 - HAWK_RULES_SETS_LOG2_NEXT);
	for (uint64_t at = pc; count < WAY_PCS; at++) {
		if (at + 16 > (uint64_t)code + MODULE_BYTES)
			model_fail("too few program counters of one set");
		if (hawk_rules_mix(at, false) >> (64 - HAWK_RULES_SETS_LOG2_NEXT) != set)
			continue;
		*(unsigned char *)(at - CALL_BYTES) = is_return_address(count) ? CALL_OPCODE : 0;
		way_pcs[count++] = at;
	}
}

static void make_rules(void)
{
	for (unsigned i = model_self(); i < WAY_PCS; i += 2)
		hawk_rules_make(way_pcs[i], false);
}

static void make_rules_backwards(void)
{
	for (unsigned i = WAY_PCS; i-- > 0;)
		if (i % 3)
			hawk_rules_make(way_pcs[i], false);
}

static void every_rule_is_right(void)
{
	for (unsigned i = 0; i < WAY_PCS; i++) {
		uint32_t rule = hawk_rules_lookup(way_pcs[i], false);
		enum hawk_rule_kind right =
			is_return_address(i) ? HAWK_RULE_NO_CFI : HAWK_RULE_OUTERMOST;

		MODEL_CHECK(!rule || hawk_rule_kind(rule) == right, "pc %u has rule %u", i, rule);
	}
}

enum { LOOKS = 2 };

/** Generations in which a thread would read `pc`, and of which module it must then be. */
static struct {
	uint32_t generation;
	const char *path; /**< NULL: the reload went on meanwhile, or it was never looked at */
} looks[MODEL_THREADS_MAX][LOOKS];

static void look(unsigned number)
{
	bool is_new = __atomic_load_n(&loaded, __ATOMIC_SEQ_CST);
	struct hawk_code_range range;
	uint32_t generation;
	bool is_old;

	if (!hawk_modules_find(pc, &range))
		return;
	generation = hawk_modules_generation();
	is_old = !__atomic_load_n(&unloading, __ATOMIC_SEQ_CST);
	looks[model_self()][number].generation = generation;
	looks[model_self()][number].path = is_new ? new_path : is_old ? old_path : NULL;
}

static void look_twice(void)
{
	look(0);
	look(1);
}

static void reload_and_look(void)
{
	reload();
	look(0);
}

static void look_once(void)
{
	look(0);
}

static void looks_are_right(void)
{
	for (unsigned i = 0; i < MODEL_THREADS_MAX; i++)
		for (unsigned j = 0; j < LOOKS; j++) {
			const struct hawk_module_record *record;

			if (!looks[i][j].path)
				continue;
			record = model_table_module(pc, looks[i][j].generation);
			MODEL_CHECK(record && model_table_path_is(record, looks[i][j].path),
				    "thread %u in generation %u: not %s", i, looks[i][j].generation,
				    looks[i][j].path);
		}
}

/** A stack of one frame. */
static uint64_t recorded[MODEL_THREADS_MAX];
static uint32_t trace;

static void record(void)
{
	static uint64_t stack[8];
	struct hawk_frame_state caller = {.pc = pc, .sp = (uint64_t)stack, .bp = 0};
	struct hawk_block_header header;
	uint32_t id;

	recorded[model_self()]++;
	hawk_record_block(&caller, (struct hawk_new_block){&header + 1, 8});
	id = hawk_header_trace(header.word1);
	MODEL_CHECK(id && (!trace || id == trace), "trace %u, not %u", id, trace);
	trace = id;
}

static void set_up_record(void)
{
	set_up();
	code[PC_OFFSET - CALL_BYTES] = 0; /* the outermost frame */
}

static void record_twice(void)
{
	record();
	record();
}

static uint64_t recorded_sum(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MODEL_THREADS_MAX; i++)
		sum += recorded[i];
	return sum;
}

static void records_are_whole(void)
{
	model_table_check();
	if (trace)
		MODEL_CHECK(model_table_allocations(trace) <= recorded_sum(), "counted twice");
}

static void all_is_recorded(void)
{
	records_are_whole();
	MODEL_CHECK(model_table_allocations(trace) == recorded_sum(), "%lu recorded of %lu",
		    model_table_allocations(trace), recorded_sum());
	MODEL_CHECK(!hawk_table_header->dropped_objects, "dropped");
}

const struct model_scenario scenarios_modules[] = {
	{
		.name = "rules_unload",
		.properties = "no rule of an unloaded module stays in the cache",
		.set_up = set_up_known,
		.threads = {make_rule, reload_and_make_rule, make_rule},
		.at_step = model_table_check,
		.at_end = no_stale_rule_stays,
		.preemptions = 2,
	},
	{
		.name = "rules_linger",
		.properties = "the same with stores that linger in a processor's store buffer",
		.set_up = set_up_known,
		.threads = {make_rule, reload_and_make_rule},
		.at_end = no_stale_rule_stays,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "rules_ways",
		.properties =
			"a rule that is found is the right one, also while a set is overwritten",
		.set_up = set_up_ways,
		.threads = {make_rules, make_rules_backwards},
		.at_step = every_rule_is_right,
		.at_end = every_rule_is_right,
		.preemptions = 2,
	},
	{
		.name = "rules_growth",
		.properties = "no rule of an unloaded module stays in a table that grows",
		.set_up = set_up_growth,
		.threads = {make_rule_twice, reload_and_make_rule},
		.at_step = model_table_check,
		.at_end = no_stale_rule_stays,
		.preemptions = 2,
	},
	{
		.name = "modules_first",
		.properties = "a module that several threads meet first is logged whole, whoever "
			      "dies when",
		.set_up = set_up,
		.threads = {look_once, look_once, look_once},
		.at_step = model_table_check,
		.at_end = looks_are_right,
		.preemptions = 2,
		.delays = 1,
	},
	{
		.name = "modules_reload",
		.properties =
			"a program counter belongs to the module that lay there in its generation",
		.set_up = set_up_known,
		.threads = {reload_and_look, look_twice},
		.at_step = model_table_check,
		.at_end = looks_are_right,
		.preemptions = 3,
	},
	{
		.name = "record",
		.properties = "all parts together: one stack, recorded by two threads, has "
			      "one id and every call is counted",
		.set_up = set_up_record,
		.threads = {record_twice, record_twice},
		.at_step = records_are_whole,
		.at_end = all_is_recorded,
		.preemptions = 1,
	},
	{0},
};
