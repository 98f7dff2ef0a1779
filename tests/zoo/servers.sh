# SPDX-License-Identifier: Apache-2.0
# Servers, on loopback only, each with its own port, configuration and data. What clients get is compared;
# look() asks the living server for its blocks.

## nginx: nginx curl: 2,000 requests, files and a proxy to itself, reload, graceful end
mkdir -p html logs && seq 20000 >html/numbers
cat >nginx.conf <<END
worker_processes 2;
daemon off;
pid $PWD/nginx.pid;
error_log $PWD/logs/error;
user root;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path $PWD/b; proxy_temp_path $PWD/p; fastcgi_temp_path $PWD/f; uwsgi_temp_path $PWD/u; scgi_temp_path $PWD/s;
  gzip on; gzip_types *; gzip_min_length 100;
  server { listen 127.0.0.1:$ZOO_PORT; root $PWD/html;
    location /proxy/ { proxy_pass http://127.0.0.1:$ZOO_PORT/; } }
}
END
start nginx -p "$PWD" -c "$PWD/nginx.conf"
curl -s --compressed "http://127.0.0.1:$ZOO_PORT/[1-500]" -o /dev/null -w '%{http_code}\n' | sort | uniq -c
curl -s --compressed "http://127.0.0.1:$ZOO_PORT/proxy/numbers?[1-500]" -o got -w '%{http_code}\n' | sort | uniq -c
kill -HUP $!
sleep 1
curl -s "http://127.0.0.1:$ZOO_PORT/numbers?[1-500]" | md5sum
signal=QUIT end $! $(pgrep -P $!)

## apache: apache2 curl: event MPM, deflate, rewrite, CGI, graceful restart
local modules=/usr/lib/apache2/modules
mkdir -p html cgi && seq 20000 >html/numbers
printf '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\n$QUERY_STRING\\n"\n' >cgi/echo && chmod 755 cgi/echo
cat >apache.conf <<END
ServerRoot $PWD
PidFile $PWD/pid
DefaultRuntimeDir $PWD
Mutex file:$PWD
ServerName localhost
Listen 127.0.0.1:$ZOO_PORT
ErrorLog $PWD/error
User www-data
Group www-data
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule filter_module $modules/mod_filter.so
LoadModule deflate_module $modules/mod_deflate.so
LoadModule rewrite_module $modules/mod_rewrite.so
LoadModule alias_module $modules/mod_alias.so
LoadModule cgid_module $modules/mod_cgid.so
LoadModule mime_module $modules/mod_mime.so
TypesConfig /etc/mime.types
ScriptSock $PWD/cgi.socket
DocumentRoot $PWD/html
SetOutputFilter DEFLATE
RewriteEngine on
RewriteRule ^/again/(.*) /\$1
ScriptAlias /cgi/ $PWD/cgi/
<Directory $PWD>
  Require all granted
</Directory>
END
chmod 755 .
start apache2 -f "$PWD/apache.conf" -DFOREGROUND
curl -s --compressed "http://127.0.0.1:$ZOO_PORT/[1-500]" -o /dev/null -w '%{http_code}\n' | sort | uniq -c
curl -s --compressed "http://127.0.0.1:$ZOO_PORT/again/numbers?[1-300]" | md5sum
kill -USR1 $!
sleep 1
curl -s "http://127.0.0.1:$ZOO_PORT/cgi/echo?a[1-20]" | md5sum
end $! $(pgrep -P $!)

## lighttpd: lighttpd curl: 1,000 requests, keep-alive, ranges
mkdir -p html && seq 20000 >html/numbers
cat >lighttpd.conf <<END
server.document-root = "$PWD/html"
server.bind = "127.0.0.1"
server.port = $ZOO_PORT
END
start lighttpd -D -f lighttpd.conf
curl -s "http://127.0.0.1:$ZOO_PORT/numbers?[1-500]" | md5sum
curl -s -r 100-199 "http://127.0.0.1:$ZOO_PORT/numbers?[1-500]" | md5sum
end $!

## haproxy: haproxy python3 curl: balances requests over two servers, rewrites headers, soft stop
local back=$((ZOO_PORT + 1))
mkdir -p html && seq 20000 >html/numbers
/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory html $back >/dev/null 2>&1 &
cat >haproxy.cfg <<END
global
  nbthread 4
defaults
  mode http
  timeout client 10s
  timeout server 10s
  timeout connect 10s
frontend f
  bind 127.0.0.1:$ZOO_PORT
  http-request set-path /numbers if { path_beg /again }
  http-response del-header Date
  http-response set-header X-Zoo yes
  default_backend b
backend b
  balance roundrobin
  server one 127.0.0.1:$back
  server two 127.0.0.1:$back
END
wait_port $back
start haproxy -db -f haproxy.cfg
curl -s "http://127.0.0.1:$ZOO_PORT/again/[1-200]" | md5sum
curl -s -o /dev/null -D - "http://127.0.0.1:$ZOO_PORT/again" | grep -i x-zoo
curl -s "http://127.0.0.1:$ZOO_PORT/[1-100]" -o /dev/null -w '%{http_code}\n' | sort | uniq -c
end $!

## squid: squid curl python3: a caching proxy, hits and misses
local back=$((ZOO_PORT + 1))
mkdir -p html logs && seq 20000 >html/numbers
/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory html $back >/dev/null 2>&1 &
cat >squid.conf <<END
http_port 127.0.0.1:$ZOO_PORT
http_access allow localhost
acl all_servers dst 127.0.0.0/8
http_access allow all_servers
pid_filename $PWD/squid.pid
cache_log $PWD/logs/cache
access_log none
cache_effective_user proxy
coredump_dir $PWD
shutdown_lifetime 1 second
pinger_enable off
cache_mem 16 MB
visible_hostname zoo
END
chmod 777 . logs
wait_port $back
start squid -N -f squid.conf
curl -s -x "http://127.0.0.1:$ZOO_PORT" "http://127.0.0.1:$back/numbers?[1-100]" | md5sum
curl -s -x "http://127.0.0.1:$ZOO_PORT" "http://127.0.0.1:$back/nothing[1-50]" -o /dev/null -w '%{http_code}\n' | sort | uniq -c
end $!

## varnish: varnish curl python3: compiles its configuration with gcc, caches (jemalloc)
local back=$((ZOO_PORT + 1))
mkdir -p html && seq 20000 >html/numbers
/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory html $back >/dev/null 2>&1 &
wait_port $back
start varnishd -F -j none -n "$PWD/v" -a "127.0.0.1:$ZOO_PORT" -b "127.0.0.1:$back" -s malloc,16m >/dev/null 2>&1
curl -s "http://127.0.0.1:$ZOO_PORT/numbers?[1-100]" | md5sum
curl -s "http://127.0.0.1:$ZOO_PORT/nothing[1-50]" -o /dev/null -w '%{http_code}\n' | sort | uniq -c
end $! $(pgrep -P $!)

## memcached: memcached python3: 20,000 values over four threads, eviction
start memcached -u root -l 127.0.0.1 -p "$ZOO_PORT" -t 4 -m 8
/usr/bin/python3 - "$ZOO_PORT" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
f = s.makefile("rwb")
for i in range(20000):
    v = b"x" * (i % 1000)
    f.write(b"set k%d 0 0 %d noreply\r\n%s\r\n" % (i, len(v), v))
f.write(b"get k19999\r\n"); f.flush()
print([f.readline() for _ in range(3)][0])
f.write(b"incr none 1\r\nset n 0 0 1\r\n1\r\nincr n 41\r\nversion\r\n"); f.flush()
print([f.readline() for _ in range(3)])
END
end $!

## redis: redis-server redis-tools: all types, Lua, a background save, reload (jemalloc)
local cli=(redis-cli -p "$ZOO_PORT")
start redis-server --bind 127.0.0.1 --port "$ZOO_PORT" --dir "$PWD" --save '' --daemonize no >/dev/null
redis-benchmark -p "$ZOO_PORT" -q -n 20000 -r 5000 -t set,lpush,sadd,zadd,hset >/dev/null
"${cli[@]}" EVAL 'for i=1,20000 do redis.call("hset", "h"..i%500, "f"..i, string.rep("x", i%100)) end return redis.call("hlen", "h7")' 0
"${cli[@]}" BGSAVE >/dev/null
wait_for bash -c "redis-cli -p $ZOO_PORT INFO persistence | grep -q rdb_bgsave_in_progress:0"
"${cli[@]}" DEBUG RELOAD
"${cli[@]}" HGET h7 f507
look $!
"${cli[@]}" SHUTDOWN NOSAVE
wait $!
echo "server: exit code $?"

## postgres: postgresql-15 postgresql-client-15: initdb, tables, indices, JSON, a parallel query, a crash of a backend, vacuum
local bin=/usr/lib/postgresql/15/bin sql
mkdir data
chmod 711 . && chmod 700 data && chown postgres data
(serve_as postgres $bin/initdb -D data -A trust --no-sync -E UTF8 --locale=C >/dev/null) || return
sql() { $bin/psql -h 127.0.0.1 -p "$ZOO_PORT" -U postgres -At -c "$1"; }
serve_as postgres $bin/postgres -D data -h 127.0.0.1 -p "$ZOO_PORT" -k '' -F >log 2>&1 &
wait_for $bin/pg_isready -h 127.0.0.1 -p "$ZOO_PORT"
sql "create table t as select i, i * 7 % 1013 as k, repeat('x', i % 100) as v from generate_series(1, 200000) i; create index on t (k)"
sql "select count(*), sum(length(v)) from t where k < 100"
sql "select md5(string_agg(j, ',')) from (select jsonb_agg(i order by i)::text j from t group by k order by k) s"
sql "set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; select sum(i * k) from t"
sql "do \$\$ begin perform pg_terminate_backend(pg_backend_pid()); end \$\$" 2>&1 | head -n 1
sql "vacuum analyze t"
sql "select k, count(*) from t group by 1 order by 2 desc, 1 limit 3"
end $! $(pgrep -P $!)

## mariadb: mariadb-server mariadb-client: bootstrap, InnoDB, Aria, stored procedure, JSON
local sql=(mariadb --no-defaults -h 127.0.0.1 -P "$ZOO_PORT" -u root -N -B)
mkdir data
traced mariadb-install-db --no-defaults --datadir="$PWD/data" --user=root --auth-root-authentication-method=normal >/dev/null 2>&1 || return
start mariadbd --no-defaults --datadir="$PWD/data" --user=root --bind-address=127.0.0.1 --port="$ZOO_PORT" \
	--socket="$PWD/s" --innodb-buffer-pool-size=32M --pid-file="$PWD/pid" 2>log
"${sql[@]}" <<'END'
create database zoo; use zoo;
create table t (i int primary key, k int, v varchar(100), index (k)) engine=InnoDB;
insert into t select seq, seq * 7 % 1013, repeat('x', seq % 100) from seq_1_to_100000;
select count(*), sum(length(v)) from t where k < 100;
select k, count(*) from t group by k order by 2 desc, 1 limit 3;
create temporary table u engine=Aria select k, json_arrayagg(i order by i) j from t group by k;
select md5(group_concat(md5(j) order by k)) from u where k < 100;
delimiter //
create procedure p(n int) begin declare i int default 0; declare s bigint default 0;
while i < n do set s = (s * 31 + i) % 1000003; set i = i + 1; end while; select s; end //
delimiter ;
call p(5000);
END
end $!

## unbound: unbound bind9-dnsutils: local zones, 500 questions, threads
local i
cat >unbound.conf <<END
server:
  interface: 127.0.0.1@$ZOO_PORT
  username: ""
  chroot: ""
  directory: "$PWD"
  pidfile: "$PWD/pid"
  use-syslog: no
  num-threads: 2
  do-not-query-localhost: no
  local-zone: "zoo." static
$(for ((i = 0; i < 2000; i++)); do echo "  local-data: \"h$i.zoo. A 10.0.$((i / 256)).$((i % 256))\""; done)
END
serve unbound -d -c unbound.conf 2>/dev/null &
wait_for dig +short +tries=1 +time=1 @127.0.0.1 -p "$ZOO_PORT" h1.zoo
for ((i = 0; i < 500; i++)); do echo "h$((i * 5)).zoo A"; done >questions
dig +short @127.0.0.1 -p "$ZOO_PORT" -f questions | md5sum
end $!

## named: bind9 bind9-dnsutils: an authoritative zone of 5,000 names, transfers, reload (jemalloc)
local i
{
	printf '$TTL 60\n@ SOA ns.zoo. root.zoo. 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\n'
	for ((i = 0; i < 5000; i++)); do echo "h$i A 10.0.$((i / 256)).$((i % 256))"; done
} >zone
cat >named.conf <<END
options { directory "$PWD"; listen-on port $ZOO_PORT { 127.0.0.1; }; listen-on-v6 { none; }; recursion no;
  pid-file "$PWD/pid"; session-keyfile "$PWD/key"; allow-transfer { any; }; dnssec-validation no; };
controls { };
zone "zoo" { type master; file "$PWD/zone"; };
END
serve named -f -c "$PWD/named.conf" -n 2 2>/dev/null &
wait_for dig +short +tries=1 +time=1 @127.0.0.1 -p "$ZOO_PORT" h1.zoo
for ((i = 0; i < 500; i++)); do echo "h$((i * 7)).zoo A"; done >questions
dig +short @127.0.0.1 -p "$ZOO_PORT" -f questions | md5sum
kill -HUP $!
sleep 1
dig +noall +answer @127.0.0.1 -p "$ZOO_PORT" zoo AXFR | md5sum
end $!

## dnsmasq: dnsmasq-base bind9-dnsutils: 2,000 hosts, 500 questions
local i
for ((i = 0; i < 2000; i++)); do echo "10.0.$((i / 256)).$((i % 256)) h$i.zoo"; done >hosts
for ((i = 0; i < 500; i++)); do echo "h$((i * 5)).zoo A"; done >questions
serve dnsmasq -k -C /dev/null -p "$ZOO_PORT" --listen-address=127.0.0.1 --bind-interfaces -h -R --addn-hosts="$PWD/hosts" \
	-u root -x "$PWD/pid" 2>/dev/null &
wait_for dig +short +tries=1 +time=1 @127.0.0.1 -p "$ZOO_PORT" h1.zoo
dig +short @127.0.0.1 -p "$ZOO_PORT" -f questions | md5sum
end $!

## mosquitto: mosquitto mosquitto-clients: 1,000 retained messages, a subscriber
printf 'listener %s 127.0.0.1\nallow_anonymous true\nuser root\n' "$ZOO_PORT" >conf
start mosquitto -c conf 2>/dev/null
seq 1000 | mosquitto_pub -h 127.0.0.1 -p "$ZOO_PORT" -t zoo/stream -l -q 1
mosquitto_pub -h 127.0.0.1 -p "$ZOO_PORT" -t zoo/kept -r -m "$(seq 2000)"
traced mosquitto_sub -h 127.0.0.1 -p "$ZOO_PORT" -t 'zoo/#' -C 1 | md5sum
end $!

## slapd: slapd ldap-utils: loads 500 entries, searches, LMDB
local i
mkdir db
cat >slapd.conf <<END
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile $PWD/pid
database mdb
suffix "dc=zoo"
directory $PWD/db
index cn eq,sub
END
{
	printf 'dn: dc=zoo\nobjectClass: dcObject\nobjectClass: organization\no: zoo\ndc: zoo\n\n'
	for ((i = 0; i < 500; i++)); do
		printf 'dn: cn=beast %d,dc=zoo\nobjectClass: inetOrgPerson\ncn: beast %d\nsn: b%d\n\n' $i $i $i
	done
} >data.ldif
traced slapadd -q -f slapd.conf -l data.ldif 2>/dev/null || return
start slapd -d 0 -f slapd.conf -h "ldap://127.0.0.1:$ZOO_PORT"
ldapsearch -x -LLL -H "ldap://127.0.0.1:$ZOO_PORT" -b dc=zoo '(cn=*7*)' sn | md5sum
end $!

## sshd: openssh-server openssh-client: key login, command, 8 MB through sftp
local ssh=(-F none -i "$PWD/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile="$PWD/known" -o LogLevel=ERROR)
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f key
cp key.pub keys
cat >sshd.conf <<END
ListenAddress 127.0.0.1
Port $ZOO_PORT
HostKey $PWD/host
PidFile $PWD/pid
AuthorizedKeysFile $PWD/keys
StrictModes no
PermitRootLogin yes
UsePAM no
Subsystem sftp internal-sftp
END
start /usr/sbin/sshd -D -e -f "$PWD/sshd.conf" 2>log
traced ssh "${ssh[@]}" -p "$ZOO_PORT" 127.0.0.1 'echo from the shell; exit 3'
echo "client: exit code $?"
seq 1000000 >numbers
echo 'put numbers copy' | traced sftp "${ssh[@]}" -q -P "$ZOO_PORT" -b - "127.0.0.1:$PWD" >/dev/null && md5sum copy
end $!

## dovecot: dovecot-imapd curl: IMAP over a maildir of 200 messages
local i
mkdir -p mail/new mail/cur mail/tmp run
for ((i = 0; i < 200; i++)); do printf 'Subject: message %d\nFrom: a@zoo\n\nbody %d\n' $i $i >"mail/new/1.$i.zoo"; done
echo 'beast:{PLAIN}secret::::::' >users
cat >dovecot.conf <<END
base_dir = $PWD/run
state_dir = $PWD/run
log_path = $PWD/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:$PWD/mail
first_valid_uid = 1
first_valid_gid = 1
import_environment = LD_PRELOAD HAWK_OPTS TZ
passdb {
  driver = passwd-file
  args = $PWD/users
}
userdb {
  driver = static
  args = uid=$(id -u nobody) gid=$(id -g nobody) home=$PWD/mail
}
service imap-login {
  inet_listener imap {
    port = $ZOO_PORT
  }
  inet_listener imaps {
    port = 0
  }
}
END
chmod 755 . run && chown -R nobody mail
start dovecot -F -c dovecot.conf
curl -sS -u beast:secret "imap://127.0.0.1:$ZOO_PORT/INBOX" -X 'SEARCH SUBJECT "message 1"' | tr -d '\r'
curl -sS -u beast:secret "imap://127.0.0.1:$ZOO_PORT/INBOX;UID=[1-50]" | md5sum
end $!

## postfix: postfix: three queue programs: map lookups, address rewriting, configuration
mkdir conf
printf 'queue_directory=%s/q\ndata_directory=%s/d\nmydestination=zoo\ncompatibility_level=3.6\n' "$PWD" "$PWD" >conf/main.cf
cp /usr/share/postfix/master.cf.dist conf/master.cf 2>/dev/null
for ((i = 0; i < 3000; i++)); do echo "user$i@zoo box$i@home"; done >conf/virtual
traced postmap -c conf "hash:$PWD/conf/virtual" && traced postmap -c conf -q user2345@zoo "hash:$PWD/conf/virtual"
seq -f 'user%g@zoo' 0 2999 | traced postmap -c conf -q - "hash:$PWD/conf/virtual" | md5sum
traced postconf -c conf | grep -v -e "$PWD" -e process_id | sort | md5sum

## vsftpd: vsftpd curl: downloads, a directory listing, each session in a chroot
mkdir -p ftp/empty && seq 20000 >ftp/numbers && chmod 555 ftp ftp/empty && touch -d 2020-01-01 ftp/* && chmod 755 .
cat >vsftpd.conf <<END
listen=YES
listen_address=127.0.0.1
listen_port=$ZOO_PORT
anonymous_enable=YES
no_anon_password=YES
anon_root=$PWD/ftp
secure_chroot_dir=$PWD/ftp/empty
background=NO
seccomp_sandbox=NO
END
start vsftpd "$PWD/vsftpd.conf"
for i in 1 2 3 4 5; do curl -sS "ftp://127.0.0.1:$ZOO_PORT/numbers" | md5sum; done
curl -sS "ftp://127.0.0.1:$ZOO_PORT/"
end $!

## etcd: etcd-server etcd-client: 200 keys (a Go program: the tracer is not in it)
local peer=$((ZOO_PORT + 1)) i
start etcd --data-dir "$PWD/data" --listen-client-urls "http://127.0.0.1:$ZOO_PORT" --advertise-client-urls "http://127.0.0.1:$ZOO_PORT" \
	--listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
	--initial-cluster "default=http://127.0.0.1:$peer" >log 2>&1
export ETCDCTL_API=3
for ((i = 0; i < 20; i++)); do traced etcdctl --endpoints "http://127.0.0.1:$ZOO_PORT" put key$i value$i; done | sort | uniq -c
traced etcdctl --endpoints "http://127.0.0.1:$ZOO_PORT" get --prefix key
kill $!
wait $!
echo "server: exit code $?"

## rabbitmq: rabbitmq-server: starts a node, a virtual host, users; Erlang with many schedulers
local i node=zoo$ZOO_PORT@localhost
export RABBITMQ_NODENAME=$node RABBITMQ_NODE_PORT=$ZOO_PORT RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=$((ZOO_PORT + 1))
export RABBITMQ_MNESIA_BASE=$PWD/data RABBITMQ_LOG_BASE=$PWD/log RABBITMQ_PID_FILE=$PWD/pid RABBITMQ_ENABLED_PLUGINS_FILE=$PWD/plugins
export ERL_EPMD_PORT=$((ZOO_PORT + 2)) ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_CONF_ENV_FILE=$PWD/none HOME=$PWD
mkdir data log
serve /usr/lib/rabbitmq/bin/rabbitmq-server >out 2>&1 &
wait_for test -s pid
/usr/lib/rabbitmq/bin/rabbitmqctl -q await_startup 2>&1
/usr/lib/rabbitmq/bin/rabbitmqctl -q add_vhost zoo 2>&1
/usr/lib/rabbitmq/bin/rabbitmqctl -q list_vhosts 2>&1 | sort
look "$(<pid)"
/usr/lib/rabbitmq/bin/rabbitmqctl -q stop 2>&1
wait $!
echo "server: exit code $?"

## uwsgi: uwsgi-plugin-python3 uwsgi-core curl: an application in two processes of two threads, 200 requests, reload
local i
cat >app.py <<'END'
import json, re
def application(environ, start_response):
    rows = [{"id": i, "name": f"name {i * 7 % 1013}"} for i in range(500)]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [json.dumps(rows).encode(), str(len(re.findall("1", str(rows)))).encode()]
END
start uwsgi_python3 --http-socket "127.0.0.1:$ZOO_PORT" --wsgi-file app.py --master --processes 2 --threads 2 --disable-logging --need-app 2>log
for i in 1 2; do
	curl -sS "http://127.0.0.1:$ZOO_PORT/[1-100]" | md5sum
	kill -HUP $!
	sleep 2
	wait_for curl -sf "http://127.0.0.1:$ZOO_PORT/"
done
signal=INT end $! $(pgrep -P $!)

## samba: samba smbclient: a share, files there and back
mkdir -p share state/private && chmod 777 share && chmod 755 .
cat >smb.conf <<END
[global]
  server role = standalone server
  interfaces = lo
  bind interfaces only = yes
  disable netbios = yes
  smb ports = $ZOO_PORT
  private dir = $PWD/state/private
  state directory = $PWD/state
  cache directory = $PWD/state
  lock directory = $PWD/state
  pid directory = $PWD/state
  ncalrpc dir = $PWD/state/ncalrpc
  log file = $PWD/log
  map to guest = bad user
  load printers = no
  printcap name = /dev/null
[zoo]
  path = $PWD/share
  guest ok = yes
  writable = yes
  force user = nobody
END
serve setsid smbd --foreground --no-process-group -s "$PWD/smb.conf" -d 0 >/dev/null 2>&1 &
wait_port "$ZOO_PORT"
seq 200000 >numbers
smbclient -s /dev/null -p "$ZOO_PORT" -N //127.0.0.1/zoo -c 'put numbers; mkdir d; get numbers back; ls' 2>&1 | grep -o '^  [a-z]*  *[AND]*  *[0-9]*' | sort
md5sum back
end $!
