#!/bin/sh
# Installs the gateway: curl -fsSL @DOWNLOADS@/install.sh | sh
# GATEWAY_INSTALL_DIR is where to (default: /usr/local/bin if you may write there, else ~/.local/bin).
# GATEWAY_DOWNLOADS is where from, such as a mirror of your own.
set -eu

# All of this is a function, so that half a download does nothing.
install_gateway() {
  from=${GATEWAY_DOWNLOADS:-@DOWNLOADS@}
  file=gateway-$(name_platform)
  to=${GATEWAY_INSTALL_DIR:-$(choose_directory)}
  mkdir -p "$to" || fail "Cannot create \"$to\": set GATEWAY_INSTALL_DIR to a directory that you can write to"
  # On the same file system, so that the last step is one rename.
  staging=$(mktemp -d "$to/.gateway.XXXXXX") ||
    fail "Cannot write to \"$to\": set GATEWAY_INSTALL_DIR to a directory that you can write to"
  trap 'rm -rf "$staging"' EXIT
  trap 'exit 130' INT TERM HUP

  printf 'Downloading gateway @VERSION@ (%s)\n' "${file#gateway-}"
  download "$from/SHA256SUMS" "$staging/SHA256SUMS"
  download "$from/$file" "$staging/$file"
  check_sum "$file"
  chmod 755 "$staging/$file"
  installed=$("$staging/$file" version) || fail "Cannot run \"$file\" on this machine"
  mv -f "$staging/$file" "$to/gateway"
  ln -sf gateway "$to/gwctl"

  printf 'Installed %s as %s/gateway, and gwctl beside it\n' "$(printf '%s' "$installed" | head -n 1)" "$to"
  case :$PATH: in
    *:"$to":*) ;;
    *) printf 'Add it to your PATH: export PATH="%s:$PATH"\n' "$to" ;;
  esac
}

name_platform() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) fail "There is no executable for $(uname -s): see @HOMEPAGE@" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "There is no executable for $(uname -m): see @HOMEPAGE@" ;;
  esac
  ! ldd --version 2>&1 | grep -qi musl ||
    fail 'There is no executable for musl, as Alpine has it: use the container image'
  printf '%s-%s' "$system" "$machine"
}

choose_directory() {
  if [ -w /usr/local/bin ]; then
    printf /usr/local/bin
  else
    printf '%s/.local/bin' "${HOME:?Cannot tell where to install: set GATEWAY_INSTALL_DIR}"
  fi
}

# download URL FILE
download() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$2" "$1" || fail "Cannot download $1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1" || fail "Cannot download $1"
  else
    fail 'Cannot find curl or wget: install one of them'
  fi
}

# check_sum FILE: compares it with its line in SHA256SUMS.
check_sum() {
  expected=$(awk -v file="$1" '$2 == file { print $1 }' "$staging/SHA256SUMS")
  [ -n "$expected" ] || fail "Cannot find \"$1\" in SHA256SUMS"
  if command -v sha256sum >/dev/null; then
    actual=$(sha256sum <"$staging/$1")
  elif command -v shasum >/dev/null; then
    actual=$(shasum -a 256 <"$staging/$1")
  else
    fail 'Cannot find sha256sum or shasum, which check the download: install one of them'
  fi
  [ "${actual%% *}" = "$expected" ] || fail "\"$1\" has the wrong checksum, nothing was installed: try again
  expected $expected
  got      ${actual%% *}"
}

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

install_gateway
