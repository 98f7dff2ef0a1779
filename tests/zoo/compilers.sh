# SPDX-License-Identifier: Apache-2.0
# Compilers, linkers and build systems. What they make is compared byte for byte.

write_c() {
	cat >work.c <<'END'
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *left, *right; int key; };
static struct node *insert(struct node *n, int key)
{
	if (!n) { n = calloc(1, sizeof(*n)); n->key = key; }
	else if (key < n->key) n->left = insert(n->left, key);
	else if (key > n->key) n->right = insert(n->right, key);
	return n;
}
static long sum(struct node *n) { return n ? sum(n->left) + n->key + sum(n->right) : 0; }
int main(void)
{
	struct node *root = NULL;
	for (int i = 0; i < 50000; i++) root = insert(root, (int)(i * 7919L % 100003));
	printf("%ld\n", sum(root));
	return 3;
}
END
}

write_cxx() {
	cat >work.cc <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
int main()
{
	std::map<std::string, std::vector<std::shared_ptr<int>>> map;
	for (int i = 0; i < 50000; i++) map["key" + std::to_string(i % 500)].push_back(std::make_shared<int>(i));
	std::vector<std::thread> threads;
	std::vector<size_t> sums(4);
	for (int t = 0; t < 4; t++)
		threads.emplace_back([&, t] { for (int i = 0; i < 20000; i++) sums[t] += std::string(i % 50 + t, 'x').size(); });
	for (auto &t : threads) t.join();
	size_t caught = 0;
	for (int i = 0; i < 1000; i++) try { throw std::runtime_error(std::to_string(i)); } catch (std::exception &e) { caught += std::string(e.what()).size(); }
	std::regex expression("key(1+)");
	std::cout << map.size() << " " << sums[3] << " " << caught << " "
		  << std::count_if(map.begin(), map.end(), [&](auto &p) { return std::regex_match(p.first, expression); }) << "\n";
	return 4;
}
END
}

## gcc: gcc: -O2 to assembly, object and program
write_c
traced gcc -O2 -S work.c && md5sum work.s && traced gcc -O2 work.c -o work && traced ./work

## gxx: g++: C++17 with templates, debug information; then its program with threads and exceptions
write_cxx
traced g++ -O1 -g -std=c++17 -S work.cc && md5sum work.s && traced g++ -O1 work.cc -o work -pthread && traced ./work

## clang: clang: C++17 with templates to assembly, AddressSanitizer's program
write_cxx
write_c
traced clang++ -O1 -std=c++17 -S work.cc && md5sum work.s && traced clang -O2 work.c -o work && traced ./work

## lld: lld clang: links a C++ program
write_cxx
clang++ -O1 -c work.cc && traced ld.lld --version | cut -d ' ' -f 1-3 && traced clang++ -fuse-ld=lld work.o -o work -pthread &&
	md5sum work && ./work

## gold: binutils g++: gold links, objdump and strip read
write_cxx
g++ -O1 -g -c work.cc && traced g++ -fuse-ld=gold work.o -o work -pthread && traced objdump -dC work | md5sum &&
	traced strip work && md5sum work && ./work

## rustc: rustc: a program of maps and threads, optimized, and that program
cat >work.rs <<'END'
use std::collections::BTreeMap;
use std::thread;
fn main() {
    let mut map: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..100000u64 { map.entry(format!("key{}", i % 5000)).or_default().push(i * 7 % 1013); }
    let t: Vec<_> = (0..4).map(|n| thread::spawn(move || (0..20000).map(|i| (i * n).to_string().len()).sum::<usize>())).collect();
    let s: Vec<usize> = t.into_iter().map(|t| t.join().unwrap()).collect();
    println!("{} {:?} {}", map.len(), s, map.values().map(|v| v.iter().sum::<u64>()).sum::<u64>());
    std::process::exit(5);
}
END
traced rustc -O --edition 2021 work.rs && traced ./work

## cargo: cargo rustc: builds and tests a crate
traced cargo init --quiet --lib --vcs none --name beast . && traced cargo test --quiet --offline 2>&1 | grep -v finished
return "${PIPESTATUS[0]}"

## go: golang-go: build (static programs: the tracer is not in them), vet, run
mkdir -p beast && cd beast || return
cat >main.go <<'END'
package main
import ("fmt"; "os"; "sort"; "strings"; "sync")
func main() {
	m := map[string][]int{}
	for i := 0; i < 100000; i++ { k := fmt.Sprint("key", i%5000); m[k] = append(m[k], i*7%1013) }
	keys := []string{}
	for k := range m { keys = append(keys, k) }
	sort.Strings(keys)
	var w sync.WaitGroup
	for t := 0; t < 4; t++ { w.Add(1); go func() { defer w.Done(); _ = strings.Repeat("x", 100000) }() }
	w.Wait()
	fmt.Println(len(keys), keys[:3], len(m["key7"]))
	os.Exit(6)
}
END
export GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$PWD/cache CGO_ENABLED=1
traced go mod init beast 2>/dev/null && traced go build -p 2 -o work . && traced go vet . && traced ./work

## ghc: ghc: a program of maps, and that program with a small heap
cat >work.hs <<'END'
import qualified Data.Map.Strict as M
import System.Exit
main :: IO ()
main = do
  let m = M.fromListWith (++) [("key" ++ show (i `mod` 5000), [i * 7 `mod` 1013]) | i <- [0 .. 100000 :: Int]]
  print (M.size m, sum (map sum (M.elems m)))
  exitWith (ExitFailure 7)
END
traced ghc -v0 -O -rtsopts work.hs && traced ./work +RTS -A256k

## ldc: ldc: a D program with a garbage collector, and that program
cat >work.d <<'END'
import std.algorithm, std.conv, std.stdio, core.memory;
int main()
{
	int[][string] map;
	foreach (i; 0 .. 100000) map["key" ~ to!string(i % 5000)] ~= i * 7 % 1013;
	GC.collect();
	writeln(map.length, " ", map.byValue.map!(v => v.sum).sum);
	return 8;
}
END
traced ldc2 -O work.d -of=work && traced ./work

## cmake: cmake make gcc g++: configures a project of two languages, makes, tests
write_c
write_cxx
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(beast C CXX)
find_package(Threads REQUIRED)
add_executable(one work.c)
add_executable(two work.cc)
target_link_libraries(two Threads::Threads)
enable_testing()
add_test(NAME one COMMAND one)
set_tests_properties(one PROPERTIES PASS_REGULAR_EXPRESSION "[0-9]+")
END
traced cmake -S . -B b | grep -v '^-- .*done (' && traced make -s -C b | sed "s/.*%/%/" && (cd b && traced ctest | grep -o 'tests passed.*')

## ninja: ninja-build gcc: 40 files, two jobs
local i
printf 'rule cc\n  command = gcc -c $in -o $out\n' >build.ninja
for ((i = 0; i < 40; i++)); do
	echo "int f$i(void) { return $i; }" >$i.c
	echo "build $i.o: cc $i.c" >>build.ninja
done
traced ninja -j 2 >log && tail -n 1 log | grep -o '40.40' && cat ./*.o | md5sum

## gfortran: gfortran: a program of arrays with OpenMP, and that program
cat >work.f90 <<'END'
program work
  implicit none
  integer :: i, j
  integer, allocatable :: a(:, :)
  integer(8) :: total
  character(:), allocatable :: text
  allocate(a(500, 500))
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 500
    a(:, i) = [(mod(i * j * 7, 1013), j = 1, 500)]
    total = total + sum(a(:, i))
  end do
  text = ''
  do i = 1, 2000
    text = text // achar(97 + mod(i, 26))
  end do
  print *, total, len(text)
  stop 9
end program
END
traced gfortran -O2 -fopenmp work.f90 -o work && OMP_NUM_THREADS=4 traced ./work

## fpc: fpc: a Pascal program of strings and classes, and that program (an allocator of its own)
cat >work.pas <<'END'
program work;
{$mode objfpc}{$H+}
uses classes, sysutils;
var list: TStringList; i: integer; sum: int64 = 0;
begin
  list := TStringList.Create;
  for i := 0 to 99999 do list.Add('key' + IntToStr(i mod 5000) + '=' + IntToStr(i * 7 mod 1013));
  list.Sort;
  for i := 0 to list.Count - 1 do sum := (sum * 31 + length(list[i])) mod 1000003;
  writeln(list.Count, ' ', sum);
  list.Free;
  halt(10);
end.
END
traced fpc -v0 -O2 work.pas >/dev/null 2>&1 && traced ./work

## nim: nim gcc: a program of tables and sequences through C, and that program
cat >work.nim <<'END'
import std/[tables, algorithm, strutils]
var map = initTable[string, seq[int]]()
for i in 0 ..< 100000:
  map.mgetOrPut("key" & $(i mod 5000), @[]).add(i * 7 mod 1013)
var sum = 0
for k, v in map: sum += v.join(",").len
echo map.len, " ", sum
quit(11)
END
traced nim c --hints:off --verbosity:0 --nimcache:cache -d:release work.nim && traced ./work

## tcc: tcc: compiles and runs in memory
write_c
traced tcc -run work.c
