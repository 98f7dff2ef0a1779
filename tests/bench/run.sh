#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints, in one run, what the tracer costs: CPU time of 16 threads x 10^6 std::list pushes under
# various tracers, as ratios to the same program on the same allocator without one.
#
#     tests/bench/run.sh [--build DIR] [--rounds N] [--threads N] [--count N] [--no-heaptrack]
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/packages.sh
. "$source_dir/tests/packages.sh"
build=$(hawk_build_folder "$source_dir")
pass=()
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(realpath -m "$2"); shift ;;
	--rounds | --threads | --count) pass+=("$1" "$2"); shift ;;
	--no-heaptrack) pass+=("$1") ;;
	*) sed -n '3,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
	shift
done

generator=()
[ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
{
	cmake -S "$source_dir" -B "$build" "${generator[@]}" -Wno-dev
	cmake --build "$build" --target hawk_tracer bench_list
} >/dev/null
exec python3 "$source_dir/tests/bench/compare_tracers.py" \
	--tracer "$build/tracer/libhawk_tracer.so" --program "$build/tests/bench/bench_list" "${pass[@]}"
