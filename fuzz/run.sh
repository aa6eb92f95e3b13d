#!/usr/bin/env bash
# Fuzzes every reader for some seconds each, two at a time: fuzz/run.sh [SECONDS] [TARGET...]
# libFuzzer on the stable toolchain: the compiler's own coverage counters, and libFuzzer's sources built by a C++
# compiler. Seeds are the files of testdata and those of fuzz/corpus, where the input of every mended crash is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
targets=("$@")
[ $# -gt 0 ] || targets=(sketch spec model table csv bits reports)

host=$(rustc -vV | sed -n 's/^host: //p')
counters="-Cpasses=sancov-module -Ccodegen-units=1 --cfg fuzzing"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
  counters+=" -Cllvm-args=-sanitizer-coverage-$option"
done
out=${CARGO_TARGET_DIR:-target}/fuzz
RUSTFLAGS=$counters CARGO_TARGET_DIR=$out cargo build --quiet --manifest-path fuzz/Cargo.toml --target "$host"

# Seeds by the name of their contents, since some files have the same name.
seed() {
  local folder=$1 file
  shift
  for file in "$@"; do cp "$file" "$folder/$(sha1sum <"$file" | cut -c1-40)"; done
}

seeds() {
  case $1 in
    sketch) seed "$2" testdata/golden/*.sketch testdata/older/*.sketch ;;
    spec) seed "$2" testdata/golden/*.json testdata/older/{spec,one-bit}.json ;;
    model) seed "$2" testdata/older/{kmeans,gmm,pca}.json ;;
    table) seed "$2" testdata/parquet/*.parquet testdata/real/digits-pca10.npy testdata/older/rows.csv ;;
    csv) seed "$2" testdata/older/rows.csv testdata/golden/rows.csv ;;
  esac
  if [ -d "fuzz/corpus/$1" ]; then seed "$2" "fuzz/corpus/$1"/*; fi
}

fuzz() {
  local folder=$out/corpus/$1
  mkdir -p "$folder" "$out/found"
  seeds "$1" "$folder"
  # An input that takes a second or a gigabyte is a fault as much as one that panics.
  FUZZ_TARGET=$1 "$out/$host/debug/compressive-fuzz" "$folder" -max_total_time="$seconds" -max_len=100000 \
    -timeout=5 -rss_limit_mb=1024 -artifact_prefix="$out/found/$1-" -print_final_stats=1 >"$out/$1.log" 2>&1 ||
    { echo "$1: a fault, its input is in $out/found" && tail -30 "$out/$1.log" && return 1; }
  echo "$1: $(grep -o 'number_of_executed_units: .*' "$out/$1.log" | grep -o '[0-9]*') runs," \
    "$(grep -o 'cov: [0-9]*' "$out/$1.log" | tail -1 | grep -o '[0-9]*') places reached"
}
export -f fuzz seeds seed
export out host seconds
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -euo pipefail -c 'fuzz {}'
