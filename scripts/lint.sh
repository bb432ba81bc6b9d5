#!/usr/bin/env bash
# What the compiler does not check. Exit 1: a rule is broken.
#
# 1. Files below a store, or below any directory in which others may write, are opened, made, removed and renamed in one
#    room, lib/base/file/beneath.h, which follows no symbolic link. Whoever opens a file otherwise is in lint-files.txt with
#    the number of places and the reason; a new place there needs a reason, too.
# 2. Libraries print nothing; what a command prints goes through say() or write_raw() of bin/app.h, so that no text has
#    power over a terminal.
# 3. Things and files of bin and lib have the names of docs/glossary.md, not words that were given up for them.
# 4. The defects that tests/simulation/defects.sh puts back can still be put back.
# 5. tests/golden/messages.txt lists all texts of the program as the sources have them: whoever changes one sees it there
#    as a reader would, and makes the list anew with scripts/messages.py --write.
set -euo pipefail
cd "$(dirname "$0")/.."

calls='open|openat|fopen|freopen|opendir|creat|unlink|unlinkat|rename|renameat|renameat2|mkdir|mkdirat|rmdir|link|linkat'
calls+='|symlink|symlinkat|mknod|chmod|chown|lchown|truncate'
library='remove|remove_all|rename|create_director\w*|copy\w*|permissions|resize_file|create_\w*link'
library+='|(recursive_)?directory_iterator'
opens="(?<![\\w.>])(?<!\\w::)(?:::)?(?:std::)?\\b($calls)\\(.*(c_str\\(\\)|\"|AT_FDCWD)"
opens+="|\\bstd::(i|o|)fstream\\b|(fs|filesystem)::($library)\\b|\\bmdb_env_(open|copy2?)\\("

sources() {
  find "$@" \( -name '*.cc' -o -name '*.h' \) -not -name '*_test.cc' -not -name 'test_*' -not -name '*_fixture.h' | sort
}
# "FILE:LINE:TEXT" of what a pattern meets outside of comments.
met() {
  local pattern=$1
  shift
  grep -HnP "$pattern" "$@" | grep -vP '^[^:]+:\d+:\s*//' || true
}

failed=0
found=$(met "$opens" $(sources bin lib | grep -v '^lib/base/file/beneath\.') | cut -d: -f1 | uniq -c | awk '{print $2, $1}')
allowed=$(grep -v '^#' scripts/lint-files.txt | awk '{print $1, $2}')
while read -r sign file count; do
  [[ $sign == '>' ]] && echo "scripts/lint-files.txt: $file opens files in $count place(s): say why there, or use lib/base/file/beneath.h" ||
    echo "scripts/lint-files.txt: $file does not open files in $count place(s) any more"
  failed=1
done < <(diff <(echo "$allowed" | sort) <(echo "$found" | sort) | grep '^[<>]' || true)

prints=$(met '\bfmt::print\(|\bstd::(cout|cerr)\b|\b(f?printf|fputs|puts|fwrite)\(' $(sources bin lib | grep -v "^bin/app\.h$"))
if [[ -n $prints ]]; then
  echo "$prints"
  echo 'use say() of bin/app.h, or write_raw() for what jobs wrote'
  failed=1
fi

retired='beats?|misfits?|numbering|cared?|living|ahead|crowd|shelf|standing|blows?|purse|entrance|parting|file_marks?'
# Without comments and texts, and FileMark as file_mark. What is ahead in time, not claimed ahead, may say so.
named=$(grep -Hn '' $(sources bin lib) |
  sed -E 's://.*::; s/"([^"\\]|\\.)*"/""/g; s/(signal|mtime)_ahead//g; s/([a-z0-9])([A-Z])/\1_\2/g; s/([A-Z])([A-Z][a-z])/\1_\2/g' |
  grep -iP "^[^:]+:\d+:.*(?<![a-z0-9])($retired)(?![a-z0-9])" |
  while IFS=: read -r file line _; do echo "$file:$line:$(sed -n "${line}p" "$file")"; done || true)
files=$(find bin lib -type f | grep -P "(?<![a-z0-9])($retired)(?![a-z0-9])[^/]*$" || true)
if [[ -n $named$files ]]; then
  printf '%s\n' ${named:+"$named"} ${files:+"$files"}
  echo 'docs/glossary.md has another word for this'
  failed=1
fi

for patch in tests/simulation/defects/*.patch; do
  git apply --check "$patch" && continue
  echo "$patch: what it changes reads otherwise now; make it anew"
  failed=1
done

scripts/messages.py || failed=1
exit $failed
