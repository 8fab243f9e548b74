#!/usr/bin/env bash
# Checks how programs and libraries of a release build are hardened: position-independent, all relocations done and
# read-only before the first instruction, no executable stack, and stack protectors in what a compiler of ours made.
#   scripts/hardening.sh FOLDER [NAME ...]     without names: all in it
set -euo pipefail
folder=${1:?hardening: name the folder of a release build}
shift
cd "$folder"
[ "$#" -gt 0 ] || set -- signalbox lib*.so
command -v readelf >/dev/null || { echo "hardening: readelf is not installed; run scripts/setup.sh" >&2; exit 1; }
faults=0 count=0
fault() { echo "hardening: $1: $2" >&2; faults=1; }
for file in "$@"; do
  [ -f "$file" ] || { fault "$file" "is not there"; continue; }
  count=$((count + 1))
  # Whole outputs first: a reader that stops early would end readelf with an error.
  header=$(readelf -hW "$file") dynamic=$(readelf -dW "$file") segments=$(readelf -lW "$file")
  symbols=$(readelf -W --dyn-syms "$file") stack=$(grep GNU_STACK <<<"$segments" || true)
  grep -q 'Type: *DYN' <<<"$header" || fault "$file" "not position-independent"
  grep -q GNU_RELRO <<<"$segments" || fault "$file" "no read-only relocations (-z relro)"
  grep -qE 'BIND_NOW|Flags:.* NOW' <<<"$dynamic" || fault "$file" "relocations are lazy (-z now)"
  grep -q TEXTREL <<<"$dynamic" && fault "$file" "relocations in code"
  grep -q 'RW ' <<<"$stack" || fault "$file" "an executable stack"
  # Rust needs none: it checks its bounds.
  comment=$(readelf -p .comment "$file" 2>/dev/null || true)
  grep -q rustc <<<"$comment" && continue
  grep -q __stack_chk_fail <<<"$symbols" || fault "$file" "no stack protector"
done
[ "$count" -gt 0 ] || fault "$folder" "there is no program and no library"
[ "$faults" -eq 0 ] && echo "hardening: $count files are hardened"
exit "$faults"
