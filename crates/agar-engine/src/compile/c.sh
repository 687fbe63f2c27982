set -u
place=$(mktemp -d) || exit 1
cat > "$place/genome.c" || exit 1
# Without a library, and every function that is not static is an export.
c() {
  "$@" -O2 -nostdlib -Wl,--no-entry -Wl,--export-dynamic -fvisibility=default \
    -o "$place/genome.wasm" "$place/genome.c" >&2 || exit 1
}
if command -v clang > /dev/null && command -v wasm-ld > /dev/null; then
  c clang --target=wasm32
elif command -v zig > /dev/null; then
  c zig cc --target=wasm32-freestanding
elif python3 -c 'import ziglang' 2> /dev/null; then
  c python3 -m ziglang cc --target=wasm32-freestanding
else
  exit 64
fi
cat "$place/genome.wasm"
