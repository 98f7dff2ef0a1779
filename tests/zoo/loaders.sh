# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Programs whose free() or realloc() is not the first one in the search order: libraries loaded with
# RTLD_DEEPBIND, functions looked up in the C library by a handle. Included by tests/zoo.sh.

_loaders_php='<?php
$rows = [];
for ($i = 0; $i < 2000; $i++)
	$rows["key$i"] = ["id" => $i, "name" => strtoupper("name $i"), "tags" => range(0, $i % 7)];
$text = json_encode($rows);
echo md5($text), " ", preg_match_all("/\"id\":(\\d+)/", $text), " ", md5(serialize($rows)), "\n";
$document = new DOMDocument();
$document->loadXML("<a>" . str_repeat("<b c=\"1\">text</b>", 500) . "</a>");
echo $document->getElementsByTagName("b")->length, " ", mb_strtoupper("zoo"), "\n";
echo (new finfo(FILEINFO_MIME_TYPE))->buffer("%PDF-1.4"), " ", iconv("UTF-8", "ISO-8859-1", "x"), "\n";
'

# _loaders_wait COMMAND...: until it succeeds, at most 20 seconds.
_loaders_wait() {
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" && return 0
		sleep 0.1
	done
	echo "never: $*"
	return 1
}

# packages: php8.2-cli php8.2-xml php8.2-mbstring
# workload: JSON, XML, multibyte strings, file types; then with USE_ZEND_ALLOC=0
zoo_php() {
	echo "$_loaders_php" >page.php
	env LD_PRELOAD="$ZOO_PRELOAD" php page.php || return
	env LD_PRELOAD="$ZOO_PRELOAD" USE_ZEND_ALLOC=0 php page.php
}

# packages: php8.2-cli
# workload: strdup, realloc, free of the C library by FFI
zoo_php_ffi() {
	env LD_PRELOAD="$ZOO_PRELOAD" php -d ffi.enable=1 -r '
		$libc = FFI::cdef("char *strdup(const char *); void free(void *); void *realloc(void *, size_t);
			size_t malloc_usable_size(void *);", "libc.so.6");
		for ($i = 0; $i < 1000; $i++) {
			$text = $libc->realloc($libc->strdup(str_repeat("x", $i)), 2 * $i + 1);
			if ($libc->malloc_usable_size($text) <= 2 * $i) echo "too small\n";
			$libc->free($text);
		}
		echo "done\n";'
}

# packages: php8.2-fpm php8.2-xml php8.2-mbstring libfcgi-bin
# workload: 8 requests, two workers that are replaced after three
zoo_php_fpm() {
	local i status=0
	echo "$_loaders_php" >page.php
	cat >fpm.conf <<-END
		[global]
		error_log = $PWD/fpm.log
		daemonize = no
		[www]
		listen = $PWD/fpm.sock
		pm = static
		pm.max_children = 2
		pm.max_requests = 3
		$([ "$(id -u)" -ne 0 ] || printf 'user = root\ngroup = root')
	END
	setsid env LD_PRELOAD="$ZOO_PRELOAD" php-fpm8.2 -R -F -y fpm.conf &
	_loaders_wait test -S fpm.sock || status=1
	for i in 1 2 3 4 5 6 7 8; do
		echo "request $i"
		SCRIPT_FILENAME=$PWD/page.php REQUEST_METHOD=GET cgi-fcgi -bind -connect "$PWD/fpm.sock" || status=1
	done
	# shellcheck disable=SC2046
	look $! $(pgrep -P $!)
	kill -QUIT $!
	wait $! || status=$?
	grep -c 'exited on signal' fpm.log
	return $status
}

# packages: apache2 libapache2-mod-php8.2 php8.2-xml php8.2-mbstring curl
# workload: 8 requests, prefork MPM, children that are replaced
zoo_apache_mod_php() {
	local i status=0 port=$((20000 + $$ % 10000))
	mkdir -p site
	chmod 755 . site
	echo "$_loaders_php" >site/page.php
	cat >apache.conf <<-END
		ServerRoot "$PWD"
		ServerName localhost
		Listen 127.0.0.1:$port
		PidFile "$PWD/apache.pid"
		ErrorLog "$PWD/error.log"
		DocumentRoot "$PWD/site"
		LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
		LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
		LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
		LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so
		TypesConfig /etc/mime.types
		AddType application/x-httpd-php .php
		MaxConnectionsPerChild 3
		$([ "$(id -u)" -ne 0 ] || printf 'User www-data\nGroup www-data')
	END
	# Apache ends its whole process group.
	setsid env LD_PRELOAD="$ZOO_PRELOAD" apache2 -f "$PWD/apache.conf" -DFOREGROUND &
	_loaders_wait curl -s -o ready "http://127.0.0.1:$port/page.php" || status=1
	for i in 1 2 3 4 5 6 7 8; do
		echo "request $i"
		curl -s -S -i "http://127.0.0.1:$port/page.php" | grep -v '^Date:' || status=1
	done
	# shellcheck disable=SC2046
	look $! $(pgrep -P $!)
	kill -TERM $!
	wait $! || status=$?
	grep -c 'exit signal' error.log
	return $status
}

# packages: ruby
# workload: strdup, realloc, free of the C library by Fiddle
zoo_ruby_fiddle() {
	env LD_PRELOAD="$ZOO_PRELOAD" ruby -e '
		require "fiddle"
		libc = Fiddle.dlopen("libc.so.6")
		call = lambda do |name, arguments, result|
			Fiddle::Function.new(libc[name], arguments, result)
		end
		pointer, size = Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T
		strdup = call.("strdup", [pointer], pointer)
		realloc = call.("realloc", [pointer, size], pointer)
		free = call.("free", [pointer], Fiddle::TYPE_VOID)
		1000.times do |i|
			text = realloc.(strdup.("x" * i), 2 * i + 1)
			puts "changed" unless text.to_s == "x" * i
			free.(text)
		end
		Fiddle::Pointer.malloc(100, Fiddle::RUBY_FREE)
		puts (1..20000).map { |i| i.to_s * 3 }.sort.join.hash == 0, "done"'
}

# packages: mono-runtime mono-mcs libmono-system-core4.0-cil
# workload: mcs, then P/Invoke of the C library's strdup, realloc, free
zoo_mono_pinvoke() {
	cat >Test.cs <<'END'
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
class Test {
	[DllImport("libc.so.6")] static extern IntPtr strdup(string text);
	[DllImport("libc.so.6")] static extern IntPtr realloc(IntPtr p, UIntPtr size);
	[DllImport("libc.so.6")] static extern void free(IntPtr p);
	[DllImport("libc.so.6")] static extern UIntPtr malloc_usable_size(IntPtr p);
	static void Main() {
		for (int i = 0; i < 1000; i++) {
			IntPtr p = realloc(strdup(new string('x', i)), (UIntPtr)(2 * i + 1));
			if (malloc_usable_size(p).ToUInt64() < (ulong)(2 * i + 1) || Marshal.PtrToStringAnsi(p).Length != i)
				Console.WriteLine("changed");
			free(p);
		}
		var words = new SortedDictionary<string, int>();
		for (int i = 0; i < 20000; i++)
			words["w" + i * 7919 % 10007] = i;
		Marshal.FreeHGlobal(Marshal.AllocHGlobal(1000));
		Console.WriteLine(words.Count + " done");
	}
}
END
	env LD_PRELOAD="$ZOO_PRELOAD" mcs Test.cs && env LD_PRELOAD="$ZOO_PRELOAD" mono Test.exe
}

# packages: python3
# workload: strdup, realloc, free of the C library by ctypes
zoo_python_ctypes() {
	env LD_PRELOAD="$ZOO_PRELOAD" python3 -c '
import ctypes
libc = ctypes.CDLL("libc.so.6", mode=ctypes.RTLD_GLOBAL)
libc.strdup.restype = libc.realloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
for i in range(1000):
    text = libc.realloc(libc.strdup(b"x" * i), 2 * i + 1)
    assert ctypes.string_at(text) == b"x" * i
    libc.free(text)
print("done")'
}
