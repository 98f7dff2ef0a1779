# SPDX-License-Identifier: Apache-2.0
# What runs other programs: sandboxes, emulators, debuggers; and another C library.

write_small() {
	cat >small.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	size_t sum = 0;
	for (int i = 0; i < 20000; i++) {
		char *p = malloc(i % 1000 + 1);
		memset(p, i, i % 1000 + 1);
		sum += (unsigned char)p[i % 100 < i % 1000 + 1 ? 0 : 0];
		if (i % 10) free(p);
	}
	printf("%zu\n", sum);
	return 9;
}
END
	gcc -g -O1 small.c -o small
}

## bwrap: bubblewrap: a shell and Perl without network, in namespaces of their own
traced bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all --die-with-parent \
	sh -c 'echo "uid $(id -u), pid $$"; perl -e "print join(q(,), map { \$_ * 7 % 1013 } 1 .. 2000)" | md5sum; exit 5'

## firejail: firejail: a shell under its default profile and seccomp
traced firejail --quiet --noprofile --net=none --seccomp --caps.drop=all sh -c 'seq 3000 | sort -rn | head -n 2; exit 6'

## unshare: util-linux: unshare, setpriv, chroot into the same root, prlimit, script
traced unshare --mount --pid --fork --mount-proc sh -c 'echo "pid $$"; exit 4'
echo "exit code $?"
traced setpriv --no-new-privs --bounding-set=-all sh -c 'grep -E "NoNewPrivs|CapBnd" /proc/self/status; seq 3000 | sort -rn | head -n 1'
traced chroot / sh -c 'seq 100 | sort -r | md5sum'
traced prlimit --nofile=20 --stack=262144 sh -c 'seq 100 | sort -r | md5sum'

## qemu: qemu-user gcc: a traced emulator runs a program
write_small
traced qemu-x86_64 ./small

## gdb: gdb gcc: breakpoints, backtraces, Python, a traced program below
write_small
traced gdb -nx -q -batch -ex 'break printf' -ex run -ex 'bt 2' -ex 'python print(sum(range(100000)), gdb.selected_frame().older().name())' -ex finish -ex continue ./small 2>/dev/null |
	grep -v -e '^\[' -e 0x -e debuginfod

## valgrind: valgrind gcc: memcheck of a program that leaks: its own malloc is in the program, and the tracer behind it
write_small
traced valgrind -q --error-exitcode=33 ./small 2>/dev/null

## strace: strace gcc: a program's output through strace -f
write_small
traced strace -f -o calls -e trace=exit_group ./small
echo "exit code $?"
grep -o 'exit_group.*' calls

## musl: musl-tools: programs of another C library, static with the tracer preloaded, dynamic by `hawk-core run` (it is in neither)
local run=()
write_small
musl-gcc small.c -o dynamic && musl-gcc -static small.c -o static
traced ./static
echo "exit code $?"
[ -z "$ZOO_PRELOAD" ] || run=("$ZOO_HAWK" run --tracer="$ZOO_PRELOAD" --)
"${run[@]}" ./dynamic

## procps: procps: ps, top, pgrep
traced ps -o comm= -p $$ && traced top -b -n 1 -p $$ | wc -l && traced vmstat | wc -l

## coreutils: busybox-static coreutils: sort with threads and temporary files, join, split, shuf, numfmt
seq 300000 | traced sort -R --random-source=/etc/passwd -S 1M --parallel=4 -T . >shuffled
traced sort -n -S 2M --parallel=4 -T . shuffled | md5sum
traced split -l 50000 shuffled part. && cat part.* | traced wc && traced tac shuffled | traced md5sum
seq 1000 | traced join - <(seq 500) 2>/dev/null | traced numfmt --to=iec | traced sha256sum
