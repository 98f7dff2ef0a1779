/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All scenarios; each scenario_*.c holds those of one module of the tracer, ended by one without a
 * name.
 */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "model.h"

extern const struct model_scenario scenarios_arena[];
extern const struct model_scenario scenarios_file[];
extern const struct model_scenario scenarios_known[];
extern const struct model_scenario scenarios_labels[];
extern const struct model_scenario scenarios_live[];
extern const struct model_scenario scenarios_modules[];
extern const struct model_scenario scenarios_slots[];
extern const struct model_scenario scenarios_traces[];

#endif
