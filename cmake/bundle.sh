#!/bin/sh
# A relocatable archive of a built program: `cmake/bundle.sh BUILD OUT.tar.gz`.
#
#   tangram-VERSION/bin/tg      finds its libraries beside it, wherever the archive was unpacked
#   tangram-VERSION/libexec/tg  the program
#   tangram-VERSION/lib/        libraries that it needs; not the C library, not CUDA's, which are
#                               the machine's own and looked for when used
#   tangram-VERSION/share/      the man page, completion of shells
#   stdlib rules examples bench
#
# Runs on x86-64 Linux with glibc of the building machine or later.
set -eu
build=$1 out=$2
root=$(cd "$(dirname "$0")/.." && pwd)
version=$("$build/tg" --version | sed -n 's/.*\([0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
top="$scratch/tangram-$version"
mkdir -p "$top/bin" "$top/libexec" "$top/lib" "$top/bench"
cp "$build/tg" "$top/libexec/tg"
strip "$top/libexec/tg" 2>/dev/null || true
program=$(stat -c %s "$top/libexec/tg")
ldd "$build/tg" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
  case "$(basename "$library")" in
    libc.so.*|libm.so.*|libdl.so.*|libpthread.so.*|librt.so.*|ld-linux*|libcuda*|libnv*|libcu*) ;;
    *) cp -L "$library" "$top/lib/" ;;
  esac
done
cat >"$top/bin/tg" <<'LAUNCH'
#!/bin/sh
here=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/libexec/tg" "$@"
LAUNCH
chmod +x "$top/bin/tg"
cp -R "$root/stdlib" "$root/rules" "$root/examples" "$build/share" "$top/"
cp -R "$root/bench/gpu" "$root/bench/peers" "$root/bench/README.md" "$top/bench/"
mkdir -p "$top/bench/gpu/oracle" # pairs weights with PyTorch's, for peers.py
cp "$root/tests/oracle/compare_torch.py" "$top/bench/gpu/oracle/"
cp "$root/LICENSE" "$root/NOTICE" "$root/README.md" "$top/"
git -C "$root" rev-parse --short HEAD >"$top/COMMIT" 2>/dev/null || rm "$top/COMMIT" # for results
find "$top" -name __pycache__ -prune -exec rm -rf {} +
tar -C "$scratch" --sort=name --owner=0 --group=0 -czf "$out.part" "tangram-$version"
mv "$out.part" "$out"
echo "$out: $(du -k "$out" | cut -f1) KiB, the program in it $((program / 1024)) KiB"
if [ "$program" -gt $((64 * 1024 * 1024)) ]; then
  echo "bundle: the program is over 64 MiB" >&2
  exit 1
fi
