#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The zoo: foreign programs, each run alone and with the tracer, must give the same output and exit code.
# Not part of CI; run it before a release. docs/zoo.md has the result, and says how to add a program.
set -uo pipefail

usage() {
	cat <<'END'
usage: tests/zoo.sh [options]
  --list            names of the programs
  --only REGEX      only programs whose name matches
  --no-install      install nothing; programs that are not there are skipped
  --build DIR       build folder (default: build, in the source folder, unless its path has blanks)
  --markdown FILE   replace the table at the end of FILE (docs/zoo.md)
  --keep            keep the outputs of all runs, and say where
Exit code 1 if a program behaves differently with the tracer.
END
}

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/packages.sh
. "$source_dir/tests/packages.sh"
build=$(hawk_build_folder "$source_dir")
only=.
install=yes
list=no
keep=no
markdown=
while [ $# -gt 0 ]; do
	case $1 in
	--list) list=yes ;;
	--only) only=$2; shift ;;
	--no-install) install=no ;;
	--build) build=$(realpath -m "$2"); shift ;;
	--markdown) markdown=$(realpath -m "$2"); shift ;;
	--keep) keep=yes ;;
	--help | -h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

# One line for each program: its name, file, packages and workload, separated by tabs.
programs() {
	awk -F': ' -v only="$only" '/^## / && substr($1, 4) ~ only {
		print substr($1, 4) "\t" FILENAME "\t" $2 "\t" substr($0, length($1) + length($2) + 5)
	}' "$source_dir"/tests/zoo/*.sh | sort
}

# script_of NAME FILE: what stands in the file before all programs, and the program.
script_of() {
	awk -v name="$1" '/^## / { other = $2 != name ":"; next } !other' "$2"
}

if [ $list = yes ]; then
	programs | cut -f 1
	exit 0
fi
for file in "$build/tracer/libhawk_tracer.so" "$build/analyzer/hawk-core"; do
	[ -e "$file" ] || { echo "$file has not been built" >&2; exit 1; }
done

# Programs run as other users, too: these must be able to read the tracer.
work=$(mktemp -d "${TMPDIR:-/var/tmp}/zoo.XXXXXX")
[ $keep = yes ] || trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$build/tracer/libhawk_tracer.so" "$build/analyzer/hawk-core" "$work/"
chmod 755 "$work/libhawk_tracer.so" "$work/hawk-core"

# installed PACKAGES: installs what is missing if allowed to; whether all are there.
installed() {
	local package missing=()
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	[ $install = yes ] && hawk_apt "${missing[@]}" >/dev/null 2>&1
}

# run_once NAME FILE MODE: leaves MODE.out, MODE.err, MODE.rc, MODE.facts in the program's folder.
run_once() {
	local folder=$work/$1 preload="" tables=() here=$work/$1/home
	rm -rf "$here" "$folder/tables"
	mkdir -p "$here"
	chmod 1777 "$here"
	[ "$3" = plain ] || [ "$3" = again ] || preload=$work/libhawk_tracer.so
	if [ "$3" = table ]; then
		mkdir -m 1777 "$folder/tables"
		tables=("HAWK_OPTS=table=$folder/tables/%p.hawk")
	fi
	: >"$folder/$3.facts"
	script_of "$1" "$2" >"$folder/script"
	(cd "$here" && nice -n 10 env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin \
		HOME="$here" TMPDIR="$here" LC_ALL=C.UTF-8 TZ=UTC TERM=dumb "${tables[@]}" \
		ZOO_PRELOAD="$preload" ZOO_HAWK="$work/hawk-core" ZOO_FACTS="$folder/$3.facts" ZOO_PORT=$((20000 + RANDOM % 10000)) \
		python3 "$source_dir/tests/zoo/contain.py" 180 \
		/usr/bin/time -q -o "$folder/$3.rss" -f %M \
		bash -c '. "$0"; run() { . "$1"; }; run "$1"' "$source_dir/tests/zoo/helpers.sh" "$folder/script") \
		>"$folder/$3.out" 2>"$folder/$3.err" </dev/null
	echo $? >"$folder/$3.rc"
}

same() {
	cmp -s "$work/$1/plain.out" "$work/$1/$2.out" && cmp -s "$work/$1/plain.rc" "$work/$1/$2.rc"
}

# The verdict on a program that has been run.
judge() {
	local folder=$work/$1 mode
	case $(<"$folder/plain.rc") in
	77) echo "skipped: $(tail -n 1 "$folder/plain.out")"; return ;;
	126 | 127) echo "BROKEN by itself: $(tail -n 1 "$folder/plain.err")"; return ;;
	137) echo "skipped: it takes too long by itself"; return ;;
	esac
	for mode in traced table; do
		same "$1" $mode && continue
		run_once "$1" "$2" again
		if same "$1" again; then
			echo "DIFFERS ($mode)"
		else
			echo "DIFFERS by itself: the workload is not deterministic"
		fi
		return
	done
	if grep -q '^analyze failed' "$folder/traced.facts"; then
		grep -m 1 '^analyze failed' "$folder/traced.facts"
	else
		echo "same, exit code $(<"$folder/plain.rc")"
	fi
}

# Peak resident memory in KiB: of the server that was looked at, else the largest process.
peak() {
	local looked
	[ -e "$work/$1/$2.facts" ] || return
	looked=$(awk '$1 == "peak" && $2 > most { most = $2 } END { if (most) print most }' "$work/$1/$2.facts")
	echo "${looked:-$(tail -n 1 "$work/$1/$2.rss" 2>/dev/null)}"
}

row() {
	local name=$1 packages=$2 workload=$3 verdict=$4 version plain traced ratio=- allocated live
	version=$(dpkg-query -W -f '${Version}' "${packages%% *}" 2>/dev/null)
	plain=$(peak "$name" plain)
	traced=$(peak "$name" traced)
	[ "${plain:-0}" -gt 0 ] 2>/dev/null && [ "${traced:-0}" -gt 0 ] 2>/dev/null &&
		ratio=$(awk "BEGIN { printf \"%.1f → %.1f\", $plain / 1024, $traced / 1024 }")
	allocated=$(python3 "$source_dir/tests/zoo/tables.py" "$work/hawk-core" "$work/$name/tables" 2>/dev/null)
	live=$(awk '$1 == "live" { sum += $2; seen = 1 } END { if (seen) print sum }' "$work/$name/traced.facts" 2>/dev/null |
		sed -e ':more' -e 's/\([0-9]\)\([0-9]\{3\}\)\>/\1,\2/;tmore')
	printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$name" "${version:--}" "${workload:--}" "$verdict" "$ratio" \
		"${allocated:--}" "${live:--}"
}

installed python3 time || { echo "please install: python3 time" >&2; exit 1; }
table=$work/table.md
cat >"$table" <<'END'
| program | version | workload | with the tracer | peak RSS, MiB | blocks allocated | live blocks |
|---|---|---|---|---|---|---|
END
failed=()
count=0
while IFS=$'\t' read -r name file packages workload <&3; do
	SECONDS=0
	packages=$(xargs <<<"$packages")
	mkdir -p "$work/$name"
	# shellcheck disable=SC2086
	if ! installed $packages; then
		verdict="skipped: not installed: $packages"
	else
		for mode in plain traced table; do
			run_once "$name" "$file" $mode
			[ "$(<"$work/$name/plain.rc")" != 77 ] || break
		done
		verdict=$(judge "$name" "$file")
	fi
	case $verdict in
	same*) count=$((count + 1)) ;;
	skipped*) ;;
	*) failed+=("$name") ;;
	esac
	row "$name" "$packages" "$(xargs -0 <<<"$workload")" "$verdict" >>"$table"
	printf '%-20s %4d s  %s\n' "$name" $SECONDS "$verdict"
	rm -rf "${work:?}/$name/home" "${work:?}/$name/tables"
	if [ $keep = no ] && [ "${verdict%,*}" != same ] && [ -e "$work/$name/traced.out" ]; then
		diff -u "$work/$name/plain.out" "$work/$name/traced.out" | head -n 20
		tail -n 5 "$work/$name/traced.err"
	fi
done 3< <(programs)
echo "$count the same, ${#failed[@]} not: ${failed[*]:-none}"
if [ -n "$markdown" ]; then
	touch "$markdown"
	sed '/^| program /,$d' "$markdown" | cat - "$table" >"$work/page.md" && cp "$work/page.md" "$markdown"
fi
[ $keep = no ] || echo "outputs: $work"
[ ${#failed[@]} -eq 0 ]
