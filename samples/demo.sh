#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a crash to the answer: builds hawk-core, runs the sample service under the tracer until it
# dies, and prints what its core says. Leaves nothing behind but the build folder.
set -euo pipefail

usage() {
	cat <<'END'
usage: samples/demo.sh [options] [-- ANALYZE-OPTIONS]
  --build DIR    build folder (default: build, in the source folder, unless its path has blanks)
  --no-install   install nothing
  --keep         keep the core, and say where it is
END
}

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/packages.sh
. "$source_dir/tests/packages.sh"
build=$(hawk_build_folder "$source_dir")
install=yes
keep=no
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(realpath -m "$2"); shift ;;
	--no-install) install=no ;;
	--keep) keep=yes ;;
	--help | -h) usage; exit 0 ;;
	--) shift; break ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

[ $install = no ] || hawk_need "$(grep -v cmocka <<<"$hawk_packages_build")"

generator=()
[ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
{
	cmake -S "$source_dir" -B "$build" "${generator[@]}" -Wno-dev
	cmake --build "$build" --target hawk-core hawk_tracer orderd
} >/dev/null

hawk_core=$build/analyzer/hawk-core
orderd=$build/samples/orderd
folder=$(mktemp -d)
[ $keep = yes ] || trap 'rm -rf "$folder"' EXIT
cd "$folder"

say() {
	printf '\n$ %s\n' "$*"
}

# Prints the core's path, or fails: the kernel may hand cores to a program, or put them elsewhere.
find_core() {
	find "$folder" -maxdepth 1 -name '*core*' -type f | head -n 1
}

say "hawk-core run -- orderd --requests 200000 --crash segv"
ulimit -c unlimited 2>/dev/null || true
sh -c '"$@"; exit $?' sh "$hawk_core" run -- "$orderd" --requests 200000 --crash segv ||
	echo "(exit code $?)"
core=$(find_core)
if [ -z "$core" ]; then
	echo
	echo "No core in the working directory: its hard limit is $(ulimit -Hc), core_pattern is" \
		"'$(cat /proc/sys/kernel/core_pattern)'."
	echo "With systemd-coredump: coredumpctl dump --output=core. Here gdb stands in for the kernel."
	[ $install = no ] || command -v gdb >/dev/null || hawk_apt gdb
	gdb -batch -nx -ex 'set startup-with-shell off' -ex 'set debuginfod enabled off' \
		-ex "set environment LD_PRELOAD $build/tracer/libhawk_tracer.so" \
		-ex run -ex 'generate-core-file core' \
		--args "$orderd" --requests 200000 --crash segv >/dev/null 2>&1 || true
	core=$(find_core)
fi
if [ -z "$core" ]; then
	echo "no core could be had here" >&2
	exit 1
fi

say hawk-core analyze "$@" core
status=0
"$hawk_core" analyze "$@" "$core" || status=$?
[ $keep = no ] || printf '\nthe core: %s\n' "$core"
case $status in
0 | 4) exit 0 ;; # 4: something could not be found, the answer says what
*) exit "$status" ;;
esac
