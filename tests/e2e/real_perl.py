# SPDX-License-Identifier: Apache-2.0
"""perl: hashes, regular expressions, sorting, and a fork."""

from support import hawk, real

SCRIPT = r"""
use strict; use warnings;
my %count; my $seed = 1;
for my $i (1 .. 60000) {
    $seed = ($seed * 1103515245 + 12345) % 2147483648;
    $count{"word" . ($seed % 5000)} .= chr(97 + $seed % 26);
}
my @lines = map { "$_ $count{$_}" } sort keys %count;
my $text = join("\n", @lines);
my $hits = () = $text =~ /(\w+)\s+a(b|c)/g;
if (my $pid = fork()) { waitpid($pid, 0) } else { my @x = map { [$_] } 1 .. 1000; exit(0) }
print length($text), " $hits $lines[17] $?\n";
if (@ARGV) { $| = 1; kill 'ABRT', $$; sleep 10 }
"""

folder = real.support()
perl = hawk.need("perl")
SEED = {"PERL_HASH_SEED": "0"}
real.same_output([perl, "-e", SCRIPT], "perl", folder, extra=SEED)
core, _ = hawk.crash([perl, "-e", SCRIPT, "abort"], hawk.tracer_environment(extra=SEED), folder)
real.check_core(core, "perl", ["perl_run"], least_blocks=5000)
hawk.finish()
