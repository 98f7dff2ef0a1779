/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All scenarios; each scenario_*.c holds those of one module of the tracer.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "model.h"

extern const struct model_scenario scenario_traces_same;
extern const struct model_scenario scenario_traces_chain;
extern const struct model_scenario scenario_traces_next;
extern const struct model_scenario scenario_traces_table;
extern const struct model_scenario scenario_traces_no_table;
extern const struct model_scenario scenario_traces_tail;
extern const struct model_scenario scenario_traces_border;
extern const struct model_scenario scenario_traces_no_memory;

extern const struct model_scenario scenario_slots_threads;
extern const struct model_scenario scenario_slots_new;
extern const struct model_scenario scenario_slots_three;
extern const struct model_scenario scenario_slots_handler;
extern const struct model_scenario scenario_slots_flush;
extern const struct model_scenario scenario_slots_flush_twice;

extern const struct model_scenario scenario_arena_words;
extern const struct model_scenario scenario_arena_limit;
extern const struct model_scenario scenario_arena_short;

extern const struct model_scenario scenario_live_handler;
extern const struct model_scenario scenario_live_both;

extern const struct model_scenario scenario_file_growth;
extern const struct model_scenario scenario_file_full;
extern const struct model_scenario scenario_file_claims;

extern const struct model_scenario scenario_known_full;
extern const struct model_scenario scenario_known_growth;

extern const struct model_scenario scenario_labels_chain;
extern const struct model_scenario scenario_labels_same;
extern const struct model_scenario scenario_labels_border;
extern const struct model_scenario scenario_labels_no_memory;

extern const struct model_scenario scenario_rules_unload;
extern const struct model_scenario scenario_rules_linger;
extern const struct model_scenario scenario_rules_ways;
extern const struct model_scenario scenario_rules_growth;
extern const struct model_scenario scenario_rules_ways_growth;

extern const struct model_scenario scenario_modules_first;
extern const struct model_scenario scenario_modules_reload;

extern const struct model_scenario scenario_record;

#endif
