#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything and runs the tests. Installs missing Debian packages first (as root or by sudo).
set -euo pipefail

usage() {
	cat <<'END'
usage: tests/run.sh [options] [-- CTEST-ARGUMENTS]
  --build DIR    build folder (default: build, in the source folder, unless its path has blanks)
  --no-install   install nothing; tests without their programs are skipped
  --jobs N       parallel jobs (default: number of processors; of tests, one more)
  --long         also the long tests: further programs, allocators and versions, and stress
  --label NAME   only tests with this label: unit, fuzz, model, tsan, e2e
  --name REGEX   only tests whose name matches
END
}

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/packages.sh
. "$source_dir/tests/packages.sh"
build=$(hawk_build_folder "$source_dir")
jobs=$(nproc)
# Many tests wait for browsers, servers and timers.
test_jobs=$((jobs + 1))
install=yes
skip=(-LE long)
select=()
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(realpath -m "$2"); shift ;;
	--no-install) install=no ;;
	--jobs) jobs=$2; test_jobs=$2; shift ;;
	--long) skip=() ;;
	--label) select+=(-L "$2"); skip=(); shift ;;
	--name) select+=(-R "$2"); skip=(); shift ;;
	--help | -h) usage; exit 0 ;;
	--) shift; select+=("$@"); break ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

if [ $install = yes ]; then
	hawk_need "$hawk_packages_build"
	hawk_need "$hawk_packages_test" || echo "some tests will be skipped" >&2
	hawk_want "$hawk_packages_real"
	hawk_want "$hawk_packages_fleet"
fi

generator=()
[ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
cmake -S "$source_dir" -B "$build" "${generator[@]}" -Wno-dev >/dev/null
cmake --build "$build" -j "$jobs"
ctest --test-dir "$build" -j "$test_jobs" --output-on-failure --no-tests=error "${skip[@]}" "${select[@]}"
