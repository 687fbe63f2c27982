set -u
place=$(mktemp -d) || exit 1
cat > "$place/genome.rs" || exit 1
target=wasm32-unknown-unknown
command -v rustc > /dev/null || exit 64
library=$(rustc --print target-libdir --target $target 2> /dev/null) || exit 64
[ -d "$library" ] || exit 64
rustc --target $target --crate-type cdylib --edition 2024 -O -C panic=abort -C strip=symbols \
  -o "$place/genome.wasm" "$place/genome.rs" >&2 || exit 1
cat "$place/genome.wasm"
