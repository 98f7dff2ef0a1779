#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints, in one run, what the tracer costs: CPU time of programs under various tracers, as ratios to
# the same program without one and to the tracer's headers alone; and the list by number of threads.
#
#     tests/bench/run.sh [--build DIR] [--only NAMES] [--rounds N] [--slow-rounds N] [--no-others]
#                        [--no-fp]          --help lists the names
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/packages.sh
. "$source_dir/tests/packages.sh"
build=$(hawk_build_folder "$source_dir")
pass=()
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(realpath -m "$2"); shift ;;
	*) pass+=("$1") ;;
	esac
	shift
done

generator=()
[ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
{
	cmake -S "$source_dir" -B "$build" "${generator[@]}" -Wno-dev
	cmake --build "$build" --target hawk_tracer bench_list bench_plain_stacks bench_plain_peak
} >/dev/null
exec python3 "$source_dir/tests/bench/compare_tracers.py" \
	--tracer "$build/tracer/libhawk_tracer.so" --list "$build/tests/bench/bench_list" --stacks "$build/tests/bench/bench_plain_stacks" \
	--peak "$build/tests/bench/bench_plain_peak" "${pass[@]}"
