# SPDX-License-Identifier: Apache-2.0
# What the programs of the zoo share. Sourced by tests/zoo.sh before the file of a program.

# Runs a command with the tracer, if this run is with one.
traced() {
	env LD_PRELOAD="$ZOO_PRELOAD" "$@"
}

# The same for servers: `serve COMMAND... &`, and $! is the server's own process.
serve() {
	exec env LD_PRELOAD="$ZOO_PRELOAD" "$@"
}

# start COMMAND...: a server that listens on $ZOO_PORT; $! is its process.
start() {
	serve "$@" &
	wait_port "$ZOO_PORT"
}

# serve_as USER COMMAND...: for those that refuse to be root.
serve_as() {
	local user=$1
	shift
	[ "$(id -u)" -eq 0 ] || serve "$@"
	exec setpriv --reuid="$user" --regid="$user" --clear-groups env LD_PRELOAD="$ZOO_PRELOAD" "$@"
}

# wait_for COMMAND...: until it succeeds, 60 s at most.
wait_for() {
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "timed out: $*"
	return 1
}

wait_port() {
	wait_for bash -c "exec 3<>/dev/tcp/127.0.0.1/$1"
}

# look PID...: notes the peak memory of a server; with the tracer, also how many live blocks `analyze --pid` finds.
look() {
	local pid answer code live
	for pid; do
		awk '$1 == "VmHWM:" { print "peak", $2 }' "/proc/$pid/status" >>"$ZOO_FACTS"
		[ -n "$ZOO_PRELOAD" ] || continue
		answer=$("$ZOO_HAWK" analyze --json --top 1 --pid "$pid" 2>"$ZOO_FACTS.message")
		code=$?
		# Just-in-time code may leave stacks of threads incomplete, which the answer says.
		[ $code -eq 4 ] && ! grep '^{"key":.*"partial":true}' <<<"$answer" | grep -qv '^{"key":"stack-incomplete"' && code=0
		live=$(grep -o -m 1 '"inuse_objects": *[0-9]*' <<<"$answer" | grep -o '[0-9]*$')
		if [ $code -eq 0 ] && [ "${live:-0}" -gt 0 ]; then
			echo "live $live"
		else
			echo "analyze failed: exit code $code, $(head -n 1 "$ZOO_FACTS.message") blocks: $live"
		fi >>"$ZOO_FACTS"
	done
}

# stop PID: ends a server and says how it ended.
stop() {
	kill -"${2:-TERM}" "$1"
	wait "$1"
	echo "server: exit code $?"
}

# end PID [CHILD]...: looks at a server and its children, and ends it with $signal.
end() {
	look "$@"
	stop "$1" "${signal:-TERM}"
}
