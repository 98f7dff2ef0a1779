#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A cluster for the rows of a whole fleet, on this machine alone: ZooKeeper and four ClickHouse servers, two shards with two
# replicas each, all on loopback. It answers what hawk-core ledger answers, of more snapshots than one machine reads.
set -euo pipefail

usage() {
	cat <<'USAGE'
usage: samples/fleet/fleet.sh [options] COMMAND
  start          install what is missing (apt), start the cluster, make the tables
  load FILE...   load rows: hawk-core export --format=ndjson CORE >> rows.ndjson
  ask [FORMAT]   print what the ledger says, in a format of ClickHouse (PrettyCompact)
  stop           stop the cluster; its data stay
  demo FILE...   start, load, ask, stop
options:
  --folder DIR   where everything lies (default: hawk-fleet-USER in TMPDIR or /tmp)
  --ports N      first of 44 ports (default: 19000)
  --host NAME    of load: the host that the rows are of
  --no-install   install nothing
USAGE
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/packages.sh
. "$here/../../tests/packages.sh"
folder=${TMPDIR:-/tmp}/hawk-fleet-$(id -un)
ports=19000
host=
install=yes
servers="1 2 3 4"

fail() {
	echo "fleet.sh: $*" >&2
	exit 3
}

tcp_port() { echo $((ports + 10 * $1 + 1)); }

# Server 1 and 2 are the replicas of the first shard.
write_config() {
	local number=$1 place=$folder/server-$1 shard
	mkdir -p "$place"
	{
		cat <<XML
<yandex>
	<logger><level>warning</level><log>$place/log</log><errorlog>$place/errors</errorlog></logger>
	<listen_host>127.0.0.1</listen_host>
	<tcp_port>$(tcp_port "$number")</tcp_port>
	<http_port>$((ports + 10 * number + 2))</http_port>
	<interserver_http_port>$((ports + 10 * number + 3))</interserver_http_port>
	<interserver_http_host>127.0.0.1</interserver_http_host>
	<path>$place/data/</path>
	<tmp_path>$place/tmp/</tmp_path>
	<users_config>$folder/users.xml</users_config>
	<default_profile>default</default_profile>
	<default_database>default</default_database>
	<mark_cache_size>67108864</mark_cache_size>
	<zookeeper><node><host>127.0.0.1</host><port>$ports</port></node></zookeeper>
	<macros><shard>$(((number + 1) / 2))</shard><replica>$number</replica></macros>
	<remote_servers><fleet>
XML
		for shard in 1 2; do
			cat <<XML
		<shard><internal_replication>true</internal_replication>
			<replica><host>127.0.0.1</host><port>$(tcp_port $((2 * shard - 1)))</port></replica>
			<replica><host>127.0.0.1</host><port>$(tcp_port $((2 * shard)))</port></replica>
		</shard>
XML
		done
		echo "	</fleet></remote_servers>"
		echo "</yandex>"
	} >"$place/config.xml"
}

write_users() {
	cat >"$folder/users.xml" <<'XML'
<yandex>
	<profiles><default><insert_distributed_sync>1</insert_distributed_sync></default></profiles>
	<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
	<quotas><default/></quotas>
</yandex>
XML
}

write_zookeeper() {
	mkdir -p "$folder/zookeeper"
	cat >"$folder/zoo.cfg" <<CFG
tickTime=1000
dataDir=$folder/zookeeper
clientPort=$ports
clientPortAddress=127.0.0.1
admin.enableServer=false
CFG
}

class_path() {
	local jar path=
	for jar in zookeeper zookeeper-jute slf4j-api slf4j-nop metrics-core netty-all netty-buffer netty-codec netty-common \
		netty-handler netty-resolver netty-transport netty-transport-native-unix-common commons-cli commons-io snappy-java; do
		[ -e "/usr/share/java/$jar.jar" ] && path+=/usr/share/java/$jar.jar:
	done
	echo "${path%:}"
}

# run NAME COMMAND...: in the background, in a session of its own, with its number in a file.
run() {
	local name=$1
	shift
	setsid "$@" >"$folder/$name.out" 2>&1 </dev/null &
	echo $! >"$folder/$name.pid"
}

is_running() {
	[ -e "$folder/$1.pid" ] && kill -0 "$(cat "$folder/$1.pid")" 2>/dev/null
}

client() {
	local number=$1
	shift
	clickhouse-client --host 127.0.0.1 --port "$(tcp_port "$number")" "$@"
}

# wait_for NAME SECONDS COMMAND...
wait_for() {
	local name=$1 tries=$(($2 * 5))
	shift 2
	until "$@" >/dev/null 2>&1; do
		is_running "$name" || fail "$name did not start: $(tail -n 3 "$folder/$name.out")"
		[ $((tries -= 1)) -gt 0 ] || fail "$name does not answer"
		sleep 0.2
	done
}

# The first server that answers.
any_server() {
	local number
	for number in $servers; do
		if client "$number" --query "SELECT 1" >/dev/null 2>&1; then
			echo "$number"
			return
		fi
	done
	fail "no server answers; fleet.sh start"
}

start() {
	local number
	[ $install = no ] || hawk_need "$hawk_packages_fleet"
	mkdir -p "$folder"
	chmod 700 "$folder"
	write_users
	write_zookeeper
	if ! is_running zookeeper; then
		run zookeeper java -Xmx256m -cp "$(class_path)" org.apache.zookeeper.server.quorum.QuorumPeerMain "$folder/zoo.cfg"
	fi
	wait_for zookeeper 30 bash -c "exec 3<>/dev/tcp/127.0.0.1/$ports"
	for number in $servers; do
		write_config "$number"
		is_running "server-$number" || run "server-$number" clickhouse-server --config-file="$folder/server-$number/config.xml"
	done
	for number in $servers; do
		wait_for "server-$number" 60 client "$number" --query "SELECT 1"
		client "$number" --multiquery <"$here/table.sql"
	done
	echo "4 servers on 127.0.0.1, ports $(tcp_port 1) to $(tcp_port 4); everything lies in $folder"
}

# A name of a host has no character that sed or JSON would read.
load() {
	local server
	[ $# -gt 0 ] || fail "load needs files with rows"
	[[ $host =~ ^[A-Za-z0-9._-]*$ ]] || fail "a host's name has letters, digits, '.', '_' and '-'"
	server=$(any_server)
	cat -- "$@" | sed "${host:+s/\"host\":null/\"host\":\"$host\"/}" |
		client "$server" --input_format_skip_unknown_fields=1 --query "INSERT INTO fleet.rows FORMAT JSONEachRow"
}

# A shard that is gone is an error: its snapshots would be missing without a word.
ask() {
	client "$(any_server)" --query "$(cat "$here/ask.sql") FORMAT ${1:-PrettyCompact}"
}

stop() {
	local name tries
	for name in server-1 server-2 server-3 server-4 zookeeper; do
		is_running "$name" && kill "$(cat "$folder/$name.pid")" 2>/dev/null
	done
	for name in server-1 server-2 server-3 server-4 zookeeper; do
		tries=100
		while is_running "$name" && [ $((tries -= 1)) -gt 0 ]; do
			sleep 0.2
		done
		is_running "$name" && kill -9 "$(cat "$folder/$name.pid")" 2>/dev/null
		rm -f "$folder/$name.pid"
	done
	return 0
}

demo() {
	trap stop EXIT
	start
	load "$@"
	ask PrettyCompact
}

while [ $# -gt 0 ]; do
	case $1 in
	--folder) folder=$(realpath -m "$2"); shift ;;
	--ports) ports=$2; shift ;;
	--host) host=$2; shift ;;
	--no-install) install=no ;;
	--help | -h) usage; exit 0 ;;
	-*) usage >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
command=${1:-}
[ $# -gt 0 ] && shift
case $command in
start | load | ask | stop | demo) "$command" "$@" ;;
*) usage >&2; exit 2 ;;
esac
