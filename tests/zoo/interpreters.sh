# SPDX-License-Identifier: Apache-2.0
# Interpreters and virtual machines: each builds trees, strings and tables, and prints what it has got.

## ruby: ruby: hashes, strings, JSON, threads, a garbage collection
traced ruby -rjson -rdigest -e '
	map = Hash.new { |h, k| h[k] = [] }
	100_000.times { |i| map["key#{i % 5000}"] << i * 7 % 1013 }
	text = JSON.generate(map.sort.to_h)
	GC.start
	puts Digest::MD5.hexdigest(text), JSON.parse(text).size
	puts 4.times.map { |t| Thread.new { (1..20_000).map { |i| (i * t).to_s }.join.size } }.map(&:value).inspect
	exit 4'

## python: python3: json, re, sqlite3, threads, subprocess, ctypes; then the same with PYTHONMALLOC=malloc
cat >work.py <<'END'
import ctypes, hashlib, json, re, sqlite3, subprocess, sys, threading, zlib
rows = [{"id": i, "name": f"name {i * 7 % 1013}", "tags": [str(j) for j in range(i % 5)]} for i in range(20000)]
text = json.dumps(rows)
print(hashlib.md5(text.encode()).hexdigest(), len(re.findall(r"name 1\d+", text)), len(zlib.compress(text.encode())))
base = sqlite3.connect(":memory:")
base.execute("create table t (id integer, name text)")
base.executemany("insert into t values (?, ?)", [(r["id"], r["name"]) for r in rows])
print(base.execute("select name, count(*) from t group by 1 order by 2 desc, 1 limit 3").fetchall())
sums = [0] * 4
def add(n):
    sums[n] = sum(len(str(i) * n) for i in range(20000))
threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
print(sums, subprocess.run(["sort", "-r"], input="a\nb\nc\n", text=True, capture_output=True).stdout.split())
libc = ctypes.CDLL("libc.so.6")
libc.strdup.restype = ctypes.c_void_p
print(ctypes.string_at(ctypes.c_void_p(libc.strdup(b"from libc")).value))
sys.exit(5)
END
traced /usr/bin/python3 work.py && return
PYTHONMALLOC=malloc traced /usr/bin/python3 work.py

## perl: perl: hashes, regular expressions, sorting, fork
traced perl -MDigest::MD5=md5_hex -e '
	my %map;
	push @{$map{"key" . $_ % 5000}}, $_ * 7 % 1013 for 0 .. 200000;
	my $text = join ";", map { "$_=@{$map{$_}}" } sort keys %map;
	print length($text), " ", md5_hex($text), " ", scalar(() = $text =~ /key1\d+=/g), "\n";
	$| = 1;
	if (my $pid = fork) { waitpid $pid, 0; print "child: ", $? >> 8, "\n" } else { exit 7 }
	exit 6'

## lua: lua5.4: tables, strings, coroutines
cat >work.lua <<'END'
local map = {}
for i = 1, 200000 do
  local k = "key" .. i % 5000
  map[k] = map[k] or {}
  table.insert(map[k], i * 7 % 1013)
end
local keys = {}
for k in pairs(map) do keys[#keys + 1] = k end
table.sort(keys)
local sum = 0
for n, k in ipairs(keys) do sum = (sum * 31 + #table.concat(map[k], ",") + n) % 1000003 end
local c = coroutine.wrap(function() for i = 1, 1000 do coroutine.yield(("x"):rep(i)) end end)
for i = 1, 1000 do sum = sum + #c() end
print(sum, #keys)
os.exit(8)
END
traced lua5.4 work.lua

## luajit: luajit: tables, strings, coroutines, the C library through FFI
cat >work.lua <<'END'
local ffi = require("ffi")
ffi.cdef("char *strdup(const char *); void free(void *);")
local sum = 0
for i = 1, 300000 do
  local p = ffi.C.strdup("text " .. i)
  sum = (sum * 31 + #ffi.string(p)) % 1000003
  ffi.C.free(p)
end
print(sum)
END
traced luajit work.lua

## tcl: tcl8.6: dictionaries, lists, string maps
cat >work.tcl <<'END'
for {set i 0} {$i < 100000} {incr i} { dict lappend map key[expr {$i % 5000}] [expr {$i * 7 % 1013}] }
puts [string length $map]
puts [lrange [lsort [dict keys $map]] 0 5]
puts [zlib crc32 [encoding convertto utf-8 $map]]
exit 9
END
traced tclsh8.6 work.tcl

## guile: guile-3.0: big numbers, hash tables, garbage collection (Boehm)
traced guile-3.0 --no-auto-compile -c '
	(define (fact n) (if (= n 0) 1 (* n (fact (- n 1)))))
	(define h (make-hash-table))
	(do ((i 0 (+ i 1))) ((= i 100000)) (hash-set! h (number->string i) (list i (* i i))))
	(gc)
	(display (string-length (number->string (fact 2000)))) (newline)
	(display (hash-ref h "4711")) (newline)
	(exit 10)'

## sbcl: sbcl: compiling, hash tables, a garbage collection
traced sbcl --noinform --no-userinit --non-interactive --eval '
	(let ((h (make-hash-table :test (quote equal))))
	  (dotimes (i 100000) (setf (gethash (format nil "k~a" i) h) (list i (* i i))))
	  (sb-ext:gc :full t)
	  (print (gethash "k4711" h))
	  (print (funcall (compile nil (quote (lambda (n) (loop for i below n sum (* i i))))) 1000))
	  (terpri)
	  (sb-ext:exit :code 11))'

## ocaml: ocaml-nox: the native compiler, its linker, and the program that it makes
cat >work.ml <<'END'
module M = Map.Make (String)
let () =
  let m = ref M.empty in
  for i = 0 to 99999 do
    m := M.update ("key" ^ string_of_int (i mod 5000))
        (fun l -> Some ((i * 7 mod 1013) :: Option.value l ~default:[])) !m
  done;
  Gc.compact ();
  Printf.printf "%d %d\n" (M.cardinal !m) (M.fold (fun _ l s -> s + List.length l + List.hd l) !m 0);
  exit 12
END
traced ocamlopt work.ml -o work && traced ./work

## erlang: erlang-base: 2,000 processes that send messages, ETS tables
cat >work.erl <<'END'
-module(work).
-export([main/0]).
main() ->
    T = ets:new(t, [public, {write_concurrency, true}]),
    Self = self(),
    Pids = [spawn(fun() -> [ets:insert(T, {{I, J}, lists:seq(1, 5)}) || J <- lists:seq(1, 50)], Self ! {done, I} end)
            || I <- lists:seq(1, 2000)],
    [receive {done, I} -> ok end || I <- lists:seq(1, length(Pids))],
    io:format("~p ~p~n", [ets:info(T, size), erlang:phash2(lists:sort(ets:tab2list(T)))]),
    halt(13).
END
traced erlc work.erl && traced erl -noshell -s work main

## node: nodejs: JSON, promises, worker threads, zlib, a child process
cat >work.js <<'END'
const { Worker } = require('worker_threads'), zlib = require('zlib'), crypto = require('crypto'), { execFileSync } = require('child_process');
const rows = [];
for (let i = 0; i < 50000; i++) rows.push({ id: i, name: 'name ' + i * 7 % 1013, tags: Array.from({ length: i % 5 }, String) });
const text = JSON.stringify(rows);
console.log(crypto.createHash('md5').update(text).digest('hex'), zlib.gunzipSync(zlib.gzipSync(text)).length);
console.log(execFileSync('sort', ['-r'], { input: 'a\nb\nc\n' }).toString().split('\n').join(' '));
const code = `require('worker_threads').parentPort.postMessage(Array.from({length: 50000}, (_, i) => 'x' + i).join('').length)`;
Promise.all([1, 2, 3].map(() => new Promise(r => new Worker(code, { eval: true }).on('message', r))))
  .then(sizes => { console.log(sizes); process.exit(14); });
END
traced node work.js

## java: default-jdk-headless: javac, then streams, threads and a small heap that is collected often
cat >Work.java <<'END'
import java.util.*;
import java.util.stream.*;
public class Work {
    public static void main(String[] a) {
        Map<String, List<Integer>> map = new TreeMap<>();
        for (int i = 0; i < 500000; i++) map.computeIfAbsent("key" + i % 5000, k -> new ArrayList<>()).add(i * 7 % 1013);
        System.out.println(map.hashCode() + " " + IntStream.range(0, 1000000).parallel().mapToObj(Integer::toString).mapToInt(String::length).sum());
        System.exit(15);
    }
}
END
traced javac -J-Xmx256m Work.java && traced java -Xmx128m -XX:+UseG1GC Work

## prolog: swi-prolog-nox: queens, assertions, atoms
cat >work.pl <<'END'
queens(N, Qs) :- numlist(1, N, L), permutation(L, Qs), safe(Qs).
safe([]). safe([Q|Qs]) :- no_attack(Q, Qs, 1), safe(Qs).
no_attack(_, [], _).
no_attack(Q, [Q1|Qs], D) :- Q =\= Q1 + D, Q =\= Q1 - D, D1 is D + 1, no_attack(Q, Qs, D1).
:- dynamic fact/2.
main :- queens(7, Q), print(Q), nl,
    forall(between(1, 50000, I), (atom_concat(a, I, A), assertz(fact(A, I)))),
    aggregate_all(count, fact(_, _), C), print(C), nl, halt(16).
END
traced swipl -q -g main work.pl

## r: r-base-core: a linear model, strings, garbage collection
cat >work.r <<'END'
set.seed(1); x <- rnorm(50000); y <- 2 * x + rnorm(50000)
print(round(coef(lm(y ~ x)), 4)); g <- gc()
l <- split(seq_len(50000) * 7 %% 1013, seq_len(50000) %% 500)
print(sum(nchar(sapply(l, paste, collapse = ",")))); quit(status = 17)
END
traced R --vanilla --slave -f work.r

## octave: octave: linear algebra, cell arrays, regular expressions
traced octave-cli --no-init-file --no-history --eval '
	a = reshape(mod((1:40000) * 7919, 1013), 200, 200) + 1000 * eye(200);
	printf("%.6f\n", norm(a \ ones(200, 1)));
	c = arrayfun(@(i) sprintf("key%d", i), 1:5000, "UniformOutput", false);
	printf("%d\n", numel(strjoin(c, ","))); exit(18)'

## gawk: gawk: associative arrays, sorting
seq 300000 | traced gawk '{ map["key" $1 % 5000] = map["key" $1 % 5000] "," $1 * 7 % 1013 }
	END { n = asorti(map, k); for (i = 1; i <= n; i++) s = (s * 31 + length(map[k[i]])) % 1000003; print n, s; exit 19 }'

## jq: jq: a document of 50,000 objects
seq 50000 | traced jq -s -c 'map({id: ., name: "name \(. * 7 % 1013)"}) | group_by(.name) | map(length) | add, length' | md5sum
return "${PIPESTATUS[1]}"

## bc: bc: 1,000 digits of pi
echo 'scale=1000; 4*a(1)' | traced bc -l

## pypy: pypy3: JSON, regular expressions, ctypes of the C library, a compiler for hot loops
cat >work.py <<'END'
import ctypes, hashlib, json, re, sys
rows = [{"id": i, "name": "name %d" % (i * 7 % 1013), "tags": [str(j) for j in range(i % 5)]} for i in range(50000)]
text = json.dumps(rows)
print(hashlib.md5(text.encode()).hexdigest(), len(re.findall("name 1[0-9]+", text)))
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype = ctypes.c_void_p
for i in range(1000):
    libc.free(ctypes.c_void_p(libc.malloc(i)))
sys.exit(20)
END
traced pypy3 work.py

## chez: chezscheme: compiles, hash tables, a garbage collection
cat >work.ss <<'END'
(define h (make-hashtable string-hash string=?))
(do ((i 0 (+ i 1))) ((= i 100000)) (hashtable-set! h (number->string i) (list i (* i i))))
(collect)
(display (hashtable-ref h "4711" #f)) (newline)
(display (string-length (number->string (expt 7 20000)))) (newline)
(exit 24)
END
traced scheme --script work.ss
