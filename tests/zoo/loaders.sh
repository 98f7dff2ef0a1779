# SPDX-License-Identifier: Apache-2.0
# Programs whose free() or realloc() is not the first one in the search order: libraries loaded with
# RTLD_DEEPBIND, functions looked up in the C library by a handle.

page='<?php
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

## php: php8.2-cli php8.2-xml php8.2-mbstring: JSON, XML, multibyte strings, file types; then with USE_ZEND_ALLOC=0
echo "$page" >page.php
traced php page.php || return
USE_ZEND_ALLOC=0 traced php page.php

## php_fpm: php8.2-fpm php8.2-xml php8.2-mbstring libfcgi-bin: 8 requests, two workers that are replaced after three
local i status=0
echo "$page" >page.php
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
serve setsid php-fpm8.2 -R -F -y fpm.conf &
wait_for test -S fpm.sock || status=1
for i in 1 2 3 4 5 6 7 8; do
	echo "request $i"
	SCRIPT_FILENAME=$PWD/page.php REQUEST_METHOD=GET cgi-fcgi -bind -connect "$PWD/fpm.sock" || status=1
done
look $! $(pgrep -P $!)
kill -QUIT $!
wait $! || status=$?
grep -c 'exited on signal' fpm.log
return $status

## apache_mod_php: apache2 libapache2-mod-php8.2 php8.2-xml php8.2-mbstring curl: 8 requests, prefork MPM, children that are replaced
local i status=0
mkdir -p site
chmod 755 . site
echo "$page" >site/page.php
cat >apache.conf <<-END
	ServerRoot "$PWD"
	ServerName localhost
	Listen 127.0.0.1:$ZOO_PORT
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
serve setsid apache2 -f "$PWD/apache.conf" -DFOREGROUND &
wait_for curl -s -o ready "http://127.0.0.1:$ZOO_PORT/page.php" || status=1
for i in 1 2 3 4 5 6 7 8; do
	echo "request $i"
	curl -s -S -i "http://127.0.0.1:$ZOO_PORT/page.php" | grep -v '^Date:' || status=1
done
look $! $(pgrep -P $!)
kill -TERM $!
wait $! || status=$?
grep -c 'exit signal' error.log
return $status

## ruby_fiddle: ruby: strdup, realloc, free of the C library by Fiddle
traced ruby -e '
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

## mono_pinvoke: mono-runtime mono-mcs libmono-system-core4.0-cil: mcs, then P/Invoke of the C library's strdup, realloc, free
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
traced mcs Test.cs && traced mono Test.exe

## wine64: wine64: a new prefix, made by Windows programs, then cmd (stacks through code of no module)
export WINEPREFIX="$PWD/prefix" WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
traced /usr/lib/wine/wine64 cmd /c 'for %i in (1 2 3) do @echo %i' && /usr/lib/wine/wineserver64 -k -w
