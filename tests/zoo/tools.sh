# SPDX-License-Identifier: Apache-2.0
# Shells, editors, tools, media programs and browsers.

write_script() {
	cat >work.sh <<'END'
n=0
for i in 1 2 3 4 5 6 7 8 9; do n=$((n * 31 + i)); done
f() { echo "in function: $1"; (exit 3) || echo "subshell: $?"; }
f "$n"
x=$(for i in $(seq 2000); do echo "line $i"; done | sed 's/line/zeile/' | sort -r | tail -n 2)
echo "$x" | while read -r a b; do echo "$b $a"; done
trap 'echo trapped' USR1
kill -USR1 $$
cat <<X
here $((6 * 7))
X
sleep 0 & wait $!
i=0; s=
while [ $i -lt 3000 ]; do s="$s$i,"; i=$((i + 1)); done
echo ${#s}
exit 21
END
}

write_page() {
	cat >page.html <<'END'
<!DOCTYPE html><html><body><div id="a"></div><canvas id="c" width="50" height="50"></canvas><script>
const rows = Array.from({length: 5000}, (_, i) => ({i, k: i * 7 % 1013}));
const sum = JSON.stringify(rows).length;
for (let i = 0; i < 200; i++) { const p = document.createElement('p'); p.textContent = 'paragraph ' + i; document.body.append(p); }
document.getElementById('c').getContext('2d').fillRect(5, 5, 20, 20);
document.getElementById('a').textContent = sum + ' ' + document.querySelectorAll('p').length + ' ' + /7+/.exec('12777')[0];
</script></body></html>
END
}

## bash: bash: functions, subshells, pipes, traps, here-documents, arrays
write_script
traced bash work.sh
echo "exit code $?"
traced bash -c 'declare -A m; for i in {1..20000}; do m[k$((i % 500))]+=" $i"; done; echo ${#m[@]} ${#m[k7]}; mapfile -t l < <(seq 5000); echo ${#l[@]}'

## dash: dash: functions, subshells, pipes, traps, here-documents
write_script
traced dash work.sh

## zsh: zsh: the same, and completion's own functions compiled
write_script
traced zsh -f work.sh
echo "exit code $?"
traced zsh -f -c 'typeset -A m; for i in {1..20000}; do m[k$((i % 500))]+=" $i"; done; print ${#m} ${#m[k7]}; print -l ${(ko)m} | md5sum; zmodload zsh/regex zsh/mathfunc; autoload -U compinit; compinit -D -u; print $? $#_comps'

## fish: fish: functions, lists, pipes, string and math
traced fish --no-config -c 'function f; string repeat -n $argv[1] x | string length; end
	f 100; set -l s; for i in (seq 2000); set -a s (math "$i * 7 % 1013"); end; count $s; string join , $s | md5sum; exit 22'

## busybox: busybox-static: ash, sort, awk (a static program: the tracer is not in it)
write_script
traced busybox sh work.sh
echo "exit code $?"
seq 10000 | traced busybox awk '{ s += $1 * $1 } END { print s }'

## vim: vim-nox: 2,000 substitutions, Vim script, Python inside
seq 20000 >numbers
traced vim -Nu NONE -es -c '%s/7/seven/g' -c 'g/9$/d' -c 'let g:s = join(map(range(2000), {i, v -> string(v)}), ",")' -c 'put =strlen(g:s)' \
	-c 'py3 import vim; vim.current.buffer.append(str(len(vim.current.buffer)))' -c 'wq' numbers
echo "exit code $?"
md5sum numbers

## emacs: emacs-nox: batch Lisp, regular expressions, byte compiler
echo ';;; -*- lexical-binding: t -*-
(defun zoo (n) (let (l) (dotimes (i n) (push (format "%d-%s" i (make-string (% i 50) ?x)) l)) (length (mapconcat #'"'"'identity l ","))))' >work.el
traced emacs -Q --batch -f batch-byte-compile work.el 2>/dev/null
traced emacs -Q --batch -l ./work.elc --eval '(with-temp-buffer (dotimes (i 20000) (insert (number-to-string i) "\n"))
	(goto-char 1) (while (re-search-forward "7+" nil t) (replace-match "seven")) (garbage-collect)
	(princ (format "%d %d %s\n" (buffer-size) (zoo 20000) (md5 (current-buffer)))) (kill-emacs 23))'

## git: git: 60 commits, branches, merge, repack, blame, fsck, clone
local i
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git config --global user.name zoo && git config --global user.email zoo@zoo && git config --global init.defaultBranch main
traced git init -q r && cd r || return
for ((i = 0; i < 30; i++)); do
	seq $((i * 50)) $((i * 50 + 500)) >file && cp file file$i && traced git add -A && traced git commit -q -m "commit $i"
done
traced git checkout -q -b side HEAD~5 && echo side >side && traced git add side && traced git commit -q -m side
traced git checkout -q main && traced git merge -q -m merged side && traced git repack -adq
traced git log -p --stat | md5sum
traced git blame file | md5sum
traced git fsck --full 2>/dev/null && traced git clone -q . ../copy && traced git -C ../copy rev-parse HEAD
traced git grep -c 7 HEAD~3 | md5sum

## rsync: rsync: copies and updates a tree of 500 files, checksums
local i
mkdir -p from/a/b
for ((i = 0; i < 500; i++)); do seq $i $((i * 3)) >from/a/b/$i; done
traced rsync -a from/ to/ && echo changed >from/a/b/7 && rm from/a/b/8 && touch -d 2020-01-01 from/a/b/7 from/a/b
traced rsync -ac --delete --itemize-changes from/ to/ && diff -r from to

## curl: curl: files, globs, ranges
seq 20000 >numbers
traced curl -s "file://$PWD/numbers" | md5sum
traced curl -s http://127.0.0.1:1/ "file://$PWD/numbers" -o /dev/null
echo "exit code $?"
traced curl -s http://127.0.0.1:1/

## tar: tar zstd xz-utils bzip2: archives of four formats, there and back
local i
mkdir d
for ((i = 0; i < 200; i++)); do seq $((i * 99)) >d/$i; done
for i in gz xz bz2 zst; do
	traced tar -caf a.tar.$i --sort=name --mtime=2020-01-01 --owner=0 --group=0 --numeric-owner d
	traced tar -tf a.tar.$i | md5sum
	mkdir $i && traced tar -xf a.tar.$i -C $i && diff -r d $i/d
done
traced xz -T2 -dc a.tar.xz | md5sum

## gpg: gnupg: a key, sign, encrypt, decrypt, verify; agent and key box in other processes
export GNUPGHOME=$PWD/g
mkdir -m 700 g
seq 1000 >text
traced gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key zoo@zoo default default never 2>/dev/null || return
traced gpg --batch --quiet --trust-model always -r zoo@zoo -o text.gpg -e text && traced gpg --batch --quiet -d text.gpg 2>/dev/null | md5sum
traced gpg --batch --quiet -o text.sig --detach-sign text && traced gpg --batch --quiet --verify text.sig text 2>/dev/null
echo "verify: exit code $?"
echo x >>text
traced gpg --batch --quiet --verify text.sig text 2>/dev/null
echo "verify: exit code $?"
gpgconf --kill all

## openssl: openssl: keys, certificates, hashes, ciphers, a TLS handshake
seq 1000000 >numbers
traced openssl dgst -sha3-256 numbers
traced openssl enc -aes-256-cbc -K 00 -iv 00 -in numbers 2>/dev/null | traced openssl enc -d -aes-256-cbc -K 00 -iv 00 2>/dev/null | md5sum
traced openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 100 -subj /CN=zoo 2>/dev/null
traced openssl verify -CAfile cert cert
start openssl s_server -accept "127.0.0.1:$ZOO_PORT" -key key -cert cert -www >/dev/null 2>&1
echo 'GET / HTTP/1.0' | traced openssl s_client -connect "127.0.0.1:$ZOO_PORT" -CAfile cert -verify_return_error 2>/dev/null | grep '^Verify return code' | sort -u
end $!

## sqlite: sqlite3: 100,000 rows, indices, window functions, full-text search, JSON
traced sqlite3 base <<'END'
create table t as with recursive s(i) as (select 1 union all select i + 1 from s where i < 100000) select i, i * 7 % 1013 as k, printf('%.*c', i % 50, 'x') as v from s;
create index x on t (k);
select count(*), sum(length(v)) from t where k < 100;
select k, sum(i) over (order by k, i rows 3 preceding) from t where k = 7 limit 5;
create virtual table f using fts5(v); insert into f select 'word' || (i % 500) || ' tail' from t limit 20000;
select count(*) from f where f match 'word7';
select length(json_group_array(json_object('k', k, 'i', i))) from t;
pragma integrity_check; vacuum;
END

## xsltproc: xsltproc: transforms a document of 20,000 elements
{ echo '<r>'; seq -f '<e n="%g"><t>text %g</t></e>' 20000; echo '</r>'; } >d.xml
cat >s.xsl <<'END'
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:key name="k" match="e" use="@n mod 100"/>
<xsl:template match="/"><o><xsl:for-each select="//e"><xsl:sort select="@n" order="descending" data-type="number"/><p><xsl:value-of select="t"/></p></xsl:for-each>
<c><xsl:value-of select="count(key('k', 7))"/></c></o></xsl:template></xsl:stylesheet>
END
traced xsltproc s.xsl d.xml | md5sum
return "${PIPESTATUS[0]}"

## ffmpeg: ffmpeg: makes a film with sound, encodes (x264, AAC), decodes on several threads
traced ffmpeg -v error -f lavfi -i testsrc2=s=320x240:d=2 -f lavfi -i sine=d=2 -c:v libx264 -threads 1 -preset veryfast -c:a aac -bitexact film.mp4 &&
	traced ffmpeg -v error -threads 4 -i film.mp4 -vf hflip -f framemd5 - | md5sum && traced ffprobe -v error -show_entries stream=codec_name,nb_frames -of csv film.mp4

## imagemagick: imagemagick: draws, blurs, converts through five formats
traced convert -size 400x300 plasma:fractal -seed 1 -depth 8 x.png 2>/dev/null
traced convert -size 400x300 gradient:red-blue -blur 0x3 -rotate 30 -colorspace Gray -depth 8 a.png && traced convert a.png a.jpg &&
	traced convert a.jpg -resize 50% a.webp && traced convert a.webp a.gif && traced convert a.gif -depth 8 rgb:- | md5sum
traced identify a.png a.jpg a.webp a.gif | cut -d ' ' -f 2-4

## gs: ghostscript: PostScript to PDF to pixels
cat >d.ps <<'END'
%!PS
/Helvetica findfont 12 scalefont setfont
1 1 20 { 1 1 40 { 18 mul 100 exch moveto dup 10 string cvs show ( some text) show } for pop showpage } for
END
traced gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -o d.pdf d.ps && traced gs -q -dBATCH -dNOPAUSE -sDEVICE=pgmraw -r50 -o - d.pdf | md5sum

## poppler: poppler-utils ghostscript: text and pixels of a PDF
printf '%%!PS\n/Times-Roman findfont 20 scalefont setfont 1 1 10 { pop 50 100 moveto (page of the zoo) show showpage } for\n' >d.ps
gs -q -dBATCH -dNOPAUSE -sDEVICE=pdfwrite -o d.pdf d.ps
traced pdftotext d.pdf - | md5sum && traced pdftoppm -r 40 -gray d.pdf p && cat p-*.pgm | md5sum && traced pdfinfo d.pdf | grep Pages

## graphviz: graphviz: lays out a graph of 300 nodes
local i
{ echo 'digraph g {'; for ((i = 0; i < 300; i++)); do echo "n$i -> n$((i * 7 % 301)); n$i -> n$((i / 2));"; done; echo '}'; } >g.dot
traced dot -Tsvg g.dot | md5sum && traced dot -Tplain g.dot | wc -l && traced neato -Tplain g.dot | sed -n 1p

## gnuplot: gnuplot-nox: 20,000 points to SVG and text
seq 20000 | awk '{ print $1, ($1 * 7919) % 1013 }' >d
traced gnuplot -e 'set term svg; set output "o.svg"; plot "d" with points, sin(x); set term dumb; set output; plot sin(x)' && md5sum o.svg

## libreoffice: libreoffice-calc-nogui libreoffice-writer-nogui poppler-utils: a table of 500 rows and a text, converted without a screen
seq 500 | awk '{ print $1 "," $1 * 7 ",=A" NR "*2" }' >t.csv
{ echo '<html><body>'; seq -f '<p>paragraph %g</p>' 500; echo '</body></html>'; } >t.html
traced soffice --headless --norestore "-env:UserInstallation=file://$PWD/profile" --convert-to ods t.csv >/dev/null 2>&1
traced soffice --headless --norestore "-env:UserInstallation=file://$PWD/profile" --convert-to csv:"Text - txt - csv (StarCalc)":44,34,76 --outdir out t.ods >/dev/null 2>&1
md5sum <out/t.csv
traced soffice --headless --norestore "-env:UserInstallation=file://$PWD/profile" --convert-to pdf:writer_web_pdf_Export t.html >/dev/null 2>&1
pdftotext t.pdf - | md5sum

## chromium: chromium: a page with scripts and a canvas, several processes (PartitionAlloc, its sandbox off)
write_page
traced chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/page.html" >dom 2>/dev/null || return
grep -o '<div id="a">.*</div>' dom && md5sum dom

## firefox: firefox-esr imagemagick: a page with scripts and a canvas, drawn into a picture (mozjemalloc, sandboxed content processes)
write_page
mkdir profile
traced firefox-esr --headless --profile "$PWD/profile" --screenshot "$PWD/page.png" --window-size=400,300 "file://$PWD/page.html" >/dev/null 2>&1
echo "exit code $?"
identify -format '%wx%h, %k colours\n' page.png && convert page.png -depth 8 rgb:- | md5sum
