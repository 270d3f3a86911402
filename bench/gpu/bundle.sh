#!/usr/bin/env bash
# Makes a bundle for a machine without Node, npm and network: Node itself (xz), and the wheel, unpacked.
#   npm run build && bash bench/gpu/bundle.sh .gpu
set -euo pipefail
cd "$(dirname "$0")/../.."
to=$1
mkdir -p "$to"
[ -f "$to/node.xz" ] || xz -T0 -6 -c "$(readlink -f "$(command -v node)")" > "$to/node.xz"
node scripts/wheel.mjs --no-build
rm -rf "$to/python"
python3 -m zipfile -e "$(ls -t python/dist/millrace-*.whl | head -1)" "$to/python"
du -sh "$to"
