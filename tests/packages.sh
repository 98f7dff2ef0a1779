# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/run.sh and samples/demo.sh: which Debian packages are needed, and installing only
# those that are missing. Sets nothing but functions.

# Each line: the package and what proves that it is there (a command, or a file or pkg-config name).
hawk_packages_build='
gcc command:gcc
g++ command:g++
cmake command:cmake
ninja-build command:ninja
pkg-config command:pkg-config
libdw-dev pc:libdw
libelf-dev pc:libelf
libxxhash-dev pc:libxxhash
liblzma-dev pc:liblzma
libzstd-dev pc:libzstd
liblz4-dev pc:liblz4
zlib1g-dev pc:zlib
libiberty-dev file:/usr/include/libiberty/demangle.h
libcmocka-dev pc:cmocka
libsqlite3-dev pc:sqlite3
libedit-dev pc:libedit
libjansson-dev pc:jansson
libseccomp-dev pc:libseccomp
libprotobuf-c-dev pc:libprotobuf-c
protobuf-c-compiler command:protoc-c
'
# Without these most of the tests cannot run.
hawk_packages_test='
binutils command:readelf
clang-format command:clang-format
git command:git
shellcheck command:shellcheck
python3 command:python3
gdb command:gdb
clang command:clang
libclang-rt-14-dev file:/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.lsan-x86_64.a
valgrind file:/usr/include/valgrind/memcheck.h
zstd command:zstd
lz4 command:lz4
xz-utils command:xz
libunwind-dev pc:libunwind-generic
libunwind8 file:/usr/lib/x86_64-linux-gnu/libunwind.so.8
libjemalloc2 file:/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
libtcmalloc-minimal4 file:/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
libgoogle-perftools4 file:/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4
libmimalloc2.0 file:/usr/lib/x86_64-linux-gnu/libmimalloc.so.2
'
# The cluster of samples/fleet: a database and what its servers agree by. Some 150 MB, 20 seconds.
hawk_packages_fleet='
clickhouse-server command:clickhouse-server
clickhouse-client command:clickhouse-client
libzookeeper-java file:/usr/share/java/zookeeper.jar
default-jre-headless command:java
'

# Programs to be traced, and readers of what export writes: a test whose program is not there is
# skipped. And the manual's compiler.
hawk_packages_real='
scdoc command:scdoc
python3-dev file:/usr/bin/python3-config
python3-pytest file:/usr/lib/python3/dist-packages/pytest/__init__.py
perl command:perl
sqlite3 command:sqlite3
graphviz command:dot
chromium command:chromium
redis-server command:redis-server
mpv command:mpv
redis-tools command:redis-benchmark
nginx command:nginx
openjdk-17-jdk-headless command:jhsdb
nodejs command:node
postgresql-15 file:/usr/lib/postgresql/15/bin/postgres
libjemalloc-dev file:/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a
libpython3.11-testsuite file:/usr/lib/python3.11/test/test_list.py
lua5.1 command:lua5.1
lua5.3 command:lua5.3
lua5.4 command:lua5.4
musl-tools command:musl-gcc
stress-ng command:stress-ng
qemu-user command:qemu-x86_64
gcc-aarch64-linux-gnu command:aarch64-linux-gnu-gcc
g++-aarch64-linux-gnu command:aarch64-linux-gnu-g++
tcl8.6 command:tclsh8.6
php8.2-cli command:php
golang-go command:go
firefox-esr command:firefox-esr
heaptrack command:heaptrack_print
jq command:jq
npm command:npm
visualvm file:/usr/share/visualvm/visualvm/modules/org-graalvm-visualvm-lib-jfluid-heap.jar
zsh command:zsh
fish command:fish
'

# hawk_build_folder SOURCE: where to build by default. The loader splits LD_PRELOAD at blanks and
# colons, so a tracer cannot lie below such a path.
hawk_build_folder() {
	case $1 in
	*[[:space:]:]*)
		echo "${TMPDIR:-/var/tmp}/hawk-core-build-$(id -u)-$(cksum <<<"$1" | cut -d ' ' -f 1)"
		;;
	*) echo "$1/build" ;;
	esac
}

# hawk_missing LIST: the packages of LIST that are not there.
hawk_missing() {
	local package proof
	while read -r package proof; do
		case $proof in
		command:*) PATH=$PATH:/usr/sbin command -v "${proof#*:}" >/dev/null || echo "$package" ;;
		pc:*) pkg-config --exists "${proof#*:}" 2>/dev/null || echo "$package" ;;
		file:*) [ -e "${proof#*:}" ] || echo "$package" ;;
		esac
	done <<<"$1"
}

# hawk_apt PACKAGES...: installs as root or by sudo; services that come along are not started.
hawk_apt() {
	local sudo=()
	[ "$(id -u)" -eq 0 ] || sudo=(sudo)
	if ! command -v apt-get >/dev/null; then
		echo "please install: $*" >&2
		return 1
	fi
	echo "installing: $*" >&2
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# hawk_need LIST: fails if something stays missing.
hawk_need() {
	local missing
	missing=$(hawk_missing "$1")
	[ -z "$missing" ] && return 0
	# shellcheck disable=SC2086
	hawk_apt $missing && [ -z "$(hawk_missing "$1")" ]
}

# hawk_want LIST: tries, one by one if need be, and goes on without.
hawk_want() {
	local missing package
	missing=$(hawk_missing "$1")
	[ -z "$missing" ] && return 0
	# shellcheck disable=SC2086
	hawk_apt $missing && return 0
	for package in $missing; do
		hawk_apt "$package" || echo "going on without $package" >&2
	done
}
