# SPDX-License-Identifier: Apache-2.0
"""PHP, which loads its extensions with RTLD_DEEPBIND: their free() and realloc() are the C library's own, past the
tracer's."""

from support import hawk, real

SCRIPT = r"""
$rows = [];
for ($i = 0; $i < 2000; $i++)
    $rows["key$i"] = ['id' => $i, 'name' => strtoupper("name $i"), 'tags' => range(0, $i % 7)];
$text = json_encode($rows);
echo md5($text), ' ', preg_match_all('/"id":(\d+)/', $text), ' ', md5(serialize($rows)), "\n";
echo count(token_get_all('<?php echo 1 + $a["b"]; ?>')), ' ', iconv('UTF-8', 'ISO-8859-1', 'x'), "\n";
echo (new finfo(FILEINFO_MIME_TYPE))->buffer('%PDF-1.4'), ' ', jdtogregorian(2459000), "\n";
bindtextdomain('hawk', '.');
echo gettext('text'), ' ', posix_getpwuid(0)['name'], "\n";
$libc = FFI::cdef('char *strdup(const char *); void free(void *); void *realloc(void *, size_t);', 'libc.so.6');
for ($i = 0; $i < 100; $i++)
    $libc->free($libc->realloc($libc->strdup(str_repeat('x', $i)), 2 * $i + 1));
if ($argc > 1) { posix_kill(posix_getpid(), SIGABRT); sleep(10); }
"""

folder = real.support()
php = hawk.need("php")
command = [php, "-d", "ffi.enable=1", "-r", SCRIPT]
for name, extra in (("php", {}), ("php without its own heap", {"USE_ZEND_ALLOC": "0"})):
    real.same_output(command, name, folder, extra=extra)
core, _ = hawk.crash([*command, "abort"], hawk.tracer_environment(extra={"USE_ZEND_ALLOC": "0"}), folder)
real.check_core(core, "php", ["php_module_startup", "zend_register_constant"], least_blocks=2000)
hawk.finish()
