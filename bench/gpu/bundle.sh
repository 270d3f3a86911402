#!/usr/bin/env bash
# Makes a bundle for a machine without Node, npm and network: Node itself (xz), and the wheel, unpacked, its largest libraries as xz.
#   npm run build && bash bench/gpu/bundle.sh .gpu
set -euo pipefail
cd "$(dirname "$0")/../.."
to=${1:-.gpu}
for needed in dist/cli/main.js build/all/index.js dist/pixels/transform/kernels/place.wasm dist/pixels/transform/kernels/cuda/picture.cu; do
  [ -f "$needed" ] || { echo "$needed is missing: run npm run build first" >&2; exit 1; }
done
mkdir -p "$to"
[ -f "$to/node.xz" ] || xz -T0 -6 -c "$(readlink -f "$(command -v node)")" > "$to/node.xz"
node scripts/wheel.mjs --no-build
rm -rf "$to/python"
python3 -m zipfile -e "$(ls -t python/dist/millrace_feed-*.whl | head -1)" "$to/python"
# What the checks import of the engine's inside.
rm -rf "$to/build"
cp -r build "$to/build"
twins=packages/pixels/test/transform/twins
node scripts/import-source.mjs "$to/sources" $twins/frame.ts $twins/mix.ts
find "$to/build" -name '*.map' -delete -o -name '*.d.ts' -delete
find "$to/python" -name '*.so*' -size +4M -exec xz -T0 -6 {} +
git describe --always --dirty --exclude '*' > "$to/commit" 2> /dev/null || true
du -sh "$to"
