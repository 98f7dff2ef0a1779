#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a crash to the answer: builds hawk-core, runs the sample service under the tracer until it
# dies, and prints what its core says; then what the core of the same crash without the tracer says.
# Leaves nothing behind but the build folder.
set -euo pipefail

usage() {
	cat <<'END'
usage: samples/demo.sh [options] [-- ANALYZE-OPTIONS]
  --build DIR    build folder (default: build, in the source folder, unless its path has blanks)
  --no-install   install nothing
  --keep         keep the cores, and say where they are
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

# Prints the path of the core in this folder, if any: the kernel may hand cores to a program, or put
# them elsewhere.
find_core() {
	find "$PWD" -maxdepth 1 -name '*core*' -type f | head -n 1
}

# Lets gdb write the core where the kernel does not, with this library preloaded.
dump_with_gdb() {
	echo
	echo "No core in the working directory: its hard limit is $(ulimit -Hc), core_pattern is" \
		"'$(cat /proc/sys/kernel/core_pattern)'."
	echo "With systemd-coredump: coredumpctl dump --output=core. Here gdb stands in for the kernel."
	[ $install = no ] || command -v gdb >/dev/null || hawk_apt gdb
	gdb -batch -nx -ex 'set startup-with-shell off' -ex 'set debuginfod enabled off' \
		-ex "set environment LD_PRELOAD $1" \
		-ex run -ex 'generate-core-file core' --args "${crash[@]}" >/dev/null 2>&1 || true
}

# Runs a command that crashes in a new folder, and goes there; the core is then ./core. gdb needs the
# library that the command preloads.
crash_in() { # FOLDER LIBRARY COMMAND...
	local library=$2 core
	mkdir "$1"
	cd "$1"
	shift 2
	sh -c '"$@"; exit $?' sh "$@" || echo "(exit code $?)"
	core=$(find_core)
	[ -n "$core" ] || dump_with_gdb "$library"
	core=$(find_core)
	if [ -z "$core" ]; then
		echo "no core could be had here" >&2
		exit 1
	fi
	[ "$core" = "$PWD/core" ] || mv "$core" core
	[ $keep = no ] || printf '\nthe core: %s\n' "$PWD/core"
}

# Runs hawk-core. Its exit codes 1 (something is lost) and 4 (something could not be found, which the
# answer says) are answers, too.
ask() {
	local status=0
	"$hawk_core" "$@" || status=$?
	case $status in
	0 | 1 | 4) ;;
	*) exit "$status" ;;
	esac
}

crash=("$orderd" --requests 200000 --crash segv)
ulimit -c unlimited 2>/dev/null || true

say "hawk-core run -- orderd --requests 200000 --crash segv"
crash_in "$folder/traced" "$build/tracer/libhawk_tracer.so" "$hawk_core" run -- "${crash[@]}"
say hawk-core analyze "$@" core
ask analyze "$@" core

say "orderd --requests 200000 --crash segv          # the same crash without the tracer"
crash_in "$folder/untraced" "" "${crash[@]}"
say "hawk-core analyze --top 1 core | sed -n '/^Heap/,/^Leaks/p'"
ask analyze --top 1 core | sed -n '/^Heap/,/^Leaks/p'
say "hawk-core leaks --top 1 core | sed -n '/^Definitely/,/^\$/p'"
ask leaks --top 1 core | sed -n '/^Definitely/,/^$/p'
