#!/bin/sh
# The gateway in one file: this script, the program, and the Deno executable, each compressed and padded to whole blocks.
# The program is a script that writes its files: those of the gateway, of its workers, and of each command. The first start
# unpacks them into a cache directory that only this user can change. Every start then replaces this shell with them,
# so process ID, signals and exit code are those of the gateway.
# Names in the cache contain the hash of their contents, so builds never mix. Unpacking a new build deletes copies that were
# not started for a month. Any copy can be deleted: it is unpacked again, and a running gateway needs it no more, because it
# has the runtime open and has read all files of its program.
set -uf

newline='
'
block_bytes=@BLOCK_BYTES@
program_entry=@PROGRAM_ENTRY@ runtime_entry=@RUNTIME_ENTRY@
program_bytes=@PROGRAM_BYTES@ runtime_bytes=@RUNTIME_BYTES@
# Where each part stands in this file: its first block, blocks, and compressed bytes.
program_part='@PROGRAM_PART@' runtime_part='@RUNTIME_PART@'
run_flags='@RUN_FLAGS@' run_environment='@RUN_ENVIRONMENT@'

has_size() {
  [ -f "$1" ] && [ "$(wc -c <"$1")" -eq "$2" ]
}

# Succeeds if the paths are directories and files of this user, not links, and neither group nor others can write to them.
is_private() {
  for path in "$@"; do
    [ -O "$path" ] || return 1
  done
  modes=$(ls -ldn "$@") || return 1
  case $newline$modes in
    *"$newline"[!d-]* | *"$newline"?????w* | *"$newline"????????w*) return 1 ;;
  esac
}

# Succeeds if the files of the program are whole and private. The list of their modes has their sizes, too: `wc` opens each file.
has_program() {
  (
    set +f
    is_private "$folder" "$folder"/*.js* || exit 1
    set -f
    total=0
    IFS=$newline
    for file in $modes; do
      IFS=' '
      set -- $file
      case $1 in -*) total=$((total + $5)) ;; esac
    done
    [ "$total" -eq "$program_bytes" ]
  ) 2>/dev/null
}

# is_unpacked CACHE
is_unpacked() {
  has_size "$runtime" "$runtime_bytes" && is_private "$1" "${runtime%/*}" "$runtime" && has_program
}

# prune CACHE: deletes old copies; the time of a file is that of its last start.
prune() {
  (
    CDPATH= cd -- "$1" &&
      find . -type f \( -path './gateway-*/main.js' -o -path './deno-*/gateway' \) -mtime +30 \
        -exec sh -c 'rm -rf "${1%/*}"' sh {} \; &&
      find . -type f -name 'new.??????' -mtime +1 -exec rm -f {} \;
  ) >/dev/null 2>&1
}

# part FIRST_BLOCK BLOCKS COMPRESSED_BYTES: prints a part of this file.
part() {
  dd if="$0" bs="$block_bytes" skip="$1" count="$2" 2>/dev/null | head -c "$3" | gzip -dc 2>/dev/null
}

incomplete='no space left, or this file is incomplete'

# Unpacks next to the target and renames, so that simultaneous and interrupted starts do no harm.
place_runtime() {
  mkdir -p "${runtime%/*}" 2>/dev/null &&
    partial=$(mktemp "${runtime%/*}/new.XXXXXX" 2>/dev/null) || { reason='not writable'; return 1; }
  part $runtime_part >"$partial"
  if ! has_size "$partial" "$runtime_bytes"; then
    reason=$incomplete
  elif ! chmod 700 "$partial" || ! mv -f "$partial" "$runtime"; then
    reason='not writable'
  else
    return 0
  fi
  rm -f "$partial"
  return 1
}

place_program() {
  mkdir -p "$folder" 2>/dev/null || { reason='not writable'; return 1; }
  part $program_part | DENO_DIR=$deno_directory "$runtime" run $run_flags --ext=js - "$folder" >/dev/null 2>&1
  has_program || { reason=$incomplete; return 1; }
}

unpack() {
  partial=
  trap 'rm -f "$partial"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  umask 077
  mkdir -p "$1" 2>/dev/null
  [ -d "$1" ] || { reason='cannot be created'; return 1; }
  is_private "$1" || { reason='not a directory that only this user can change'; return 1; }
  for path in "${runtime%/*}" "$runtime"; do
    [ ! -e "$path" ] && [ ! -L "$path" ] || is_private "$path" || rm -rf "$path"
  done
  if ! has_size "$runtime" "$runtime_bytes"; then
    place_runtime || return 1
    "$runtime" --version >/dev/null 2>&1 || {
      reason=$("$runtime" --version 2>&1 | tail -n 1)
      rm -f "$runtime"
      return 1
    }
  fi
  has_program || {
    is_private "$folder" 2>/dev/null || rm -rf "$folder"
    place_program || { rm -rf "$folder" && place_program; } || return 1
  }
  # A process that runs the program for the first time analyzes it, and would keep the memory for that until it ends.
  echo '{}' | DENO_DIR=$deno_directory "$runtime" run $run_flags "$program" validate - >/dev/null 2>&1
  DENO_DIR=$deno_directory "$runtime" run $run_flags "$folder/worker.js" >/dev/null 2>&1
  prune "$1"
  return 0
}

# start CACHE ARGUMENT...: becomes the gateway, or returns if this directory cannot be used.
start() {
  cache=$1
  shift
  [ -n "$cache" ] || return 0
  runtime=$cache/$runtime_entry/gateway folder=$cache/$program_entry
  program=$folder/main.js deno_directory=$folder/deno
  if ! is_unpacked "$cache" 2>/dev/null; then
    # In a subshell, which limits umask and traps to it.
    reason=$(unpack "$cache" >&2 || { printf '%s' "$reason" && exit 1; }) || {
      status=$?
      [ $status -eq 1 ] || exit $status
      tried="$tried
  $cache: $reason"
      return 0
    }
  fi
  touch -c "$runtime" "$program" 2>/dev/null
  DENO_DIR=$deno_directory
  GATEWAY_ARGV0=$0
  DENO_NO_UPDATE_CHECK=1
  export DENO_DIR GATEWAY_ARGV0 DENO_NO_UPDATE_CHECK
  for setting in $run_environment; do
    eval "[ -n \"\${${setting%%=*}+set}\" ]" || export "${setting?}"
  done
  exec "$runtime" run $run_flags "$program" "$@"
}

# Unsets variables of the Deno and Node tools that would change the gateway's behavior. Those for trust and tokens stay.
forget_tool_settings() {
  unset NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED NODE_V8_COVERAGE NODE_CHANNEL_FD NODE_UNIQUE_ID
  IFS=$newline
  for line in $(export -p); do
    name=${line#export }
    name=${name#declare -x }
    name=${name%%=*}
    case $name in
      DENO_CERT | DENO_TLS_CA_STORE | DENO_KV_ACCESS_TOKEN | *[!A-Z0-9_]*) ;;
      DENO_*) unset "$name" ;;
    esac
  done
  unset IFS
}

# require PROGRAM...: ends if one of them is missing.
require() {
  for name in "$@"; do
    command -v "$name" >/dev/null && continue
    printf 'Cannot find "%s" on the PATH, which unpacks the gateway: install coreutils and gzip\n' "$name" >&2
    exit 1
  done
}

# Answers what needs no runtime, in a tenth of the time.
case $#:${1-} in
  1:version | 1:--version | 1:-V)
    printf 'gateway %s\n' '@VERSION@'
    exit
    ;;
  1:--help | 1:-h | 1:help)
    case ${0##*/} in
      gwctl) printf '%s\n' '@GWCTL_HELP@' ;;
      *) printf '%s\n' '@GATEWAY_HELP@' ;;
    esac
    exit
    ;;
esac

forget_tool_settings
require wc ls id mkdir mktemp dd head gzip chmod mv rm tail
tried=
start "${GATEWAY_CACHE_DIR-}" "$@"
start "${XDG_CACHE_HOME:+$XDG_CACHE_HOME/gateway}" "$@"
start "${HOME:+$HOME/.cache/gateway}" "$@"
start "${TMPDIR:-/tmp}/gateway-$(id -u)" "$@"
printf 'Cannot unpack the gateway, set "GATEWAY_CACHE_DIR" to a directory that only you can write to and that allows executables; tried:%s\n' "$tried" >&2
exit 1
