#!/usr/bin/env bash
# Prints the binary facts of the headers in a folder (default: include; without kit.h, which is no part of the contract),
# one per line:
#
#   struct    NAME SIZE align ALIGNMENT
#   field     STRUCT OFFSET TYPE NAME
#   function  STRUCT SIGNATURE        a function of a table; "-" instead of a struct: an exported one
#   type      DECLARATION
#   constant  NAME VALUE
#   id        NAME VALUE              of a role or a service
#
# Layouts are clang's own. Signatures keep parameter names, because swapping two parameters of one
# type breaks callers as well.
set -euo pipefail

fail() { printf 'layout.sh: %s\n' "$*" >&2; exit 1; }

include=${1:-$(dirname "$0")/../../include}
[ -d "$include" ] || fail "there is no folder $include"
command -v clang >/dev/null 2>&1 || fail "clang is not on PATH; Swift's toolchain brings it"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$include" && find . -name '*.h' ! -path ./signalbox/kit.h | LC_ALL=C sort | sed 's|^\./\(.*\)$|#include <\1>|') >"$work/all.c"
[ -s "$work/all.c" ] || fail "there is no header in $include"
clang=(clang -std=c11 -I "$include" "$work/all.c")

"${clang[@]}" -fsyntax-only -Xclang -fdump-record-layouts-complete >"$work/records"
"${clang[@]}" -E -P >"$work/text"
"${clang[@]}" -E -dM >"$work/macros"

# Structs and their own fields; an embedded struct is listed once, on its own.
awk '
  /^\*\*\* Dumping/ { name = ""; count = 0; next }
  name == "" && /^ *0 \| struct / { name = $4; next }
  name !~ /^sbx_/ { next }
  /^ *[0-9]+ \|   [^ ]/ {
    offset = $1
    sub(/^ *[0-9]+ \|   /, "")
    fields[count++] = "field " name " " offset " " $0
    next
  }
  /\[sizeof=/ {
    match($0, /sizeof=[0-9]+/); size = substr($0, RSTART + 7, RLENGTH - 7)
    match($0, /align=[0-9]+/); align = substr($0, RSTART + 6, RLENGTH - 6)
    print "struct " name " " size " align " align
    for (i = 0; i < count; i++) print fields[i]
    name = ""
  }
' "$work/records"

# Signatures and types: the text without comments, one declaration per line.
tr '\n' ' ' <"$work/text" | sed 's/[;{}]/&\n/g' | awk '
  { gsub(/[ \t]+/, " "); sub(/^ /, ""); sub(/ ?[;{]$/, "") }
  /^typedef struct sbx_[a-z0-9_]+$/ { inside = $3; next }
  inside != "" && $0 == "}" { inside = ""; next }
  inside != "" { if (/\(\*/) print "function " inside " " $0; next }
  /^typedef / && /[ *(]sbx_/ { print "type " substr($0, 9); next }
  /[ *]sbx_[a-z0-9_]+\(/ { print "function - " $0 }
'

LC_ALL=C sort "$work/macros" | awk '
  $2 !~ /^SBX_[A-Z0-9_]+$/ || NF < 3 { next }
  { kind = $2 ~ /^SBX_(ROLE|SVC)_/ ? "id" : "constant"; name = $2; sub(/^#define [^ ]+ /, ""); print kind, name, $0 }
'
