#!/usr/bin/env bash
# Runs the GPU benchmark on a machine without Node or npm: takes a bundle (bench/gpu/bundle.sh), makes the data, trains.
#   bash bench/gpu/run.sh BUNDLE OUT
set -euo pipefail
bundle=$(realpath "$1")
out=$(realpath "$2")
work=$(mktemp -d)
xz -dc "$bundle/node.xz" > "$work/node"
chmod +x "$work/node"
export MILLRACE_NODE="$work/node" PATH="$work:$PATH" PYTHONPATH="$bundle/python" PYTHONUNBUFFERED=1
cli="$bundle/python/millrace/_engine/dist/cli/main.js"
node "$cli" doctor
cores=$(nproc)
pictures='{"synthetic":{"count":'"${COUNT:-16384}"',"images":{"width":224,"height":224,"quality":90,"classes":1000}}}'
node "$cli" pack "$pictures" --out "$work/shards" --prefix bench --shards 16 --workers "$cores"
python3 - "$work/shards" "$work/files" <<'PY'
import glob, os, sys, tarfile
shards, files = sys.argv[1:]
for shard in sorted(glob.glob(f"{shards}/*.tar"))[:8]:
    with tarfile.open(shard) as tar:
        members = {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}
    for name, data in members.items():
        if name.endswith(".jpg"):
            label = members[name[:-4] + ".cls"].decode()
            os.makedirs(f"{files}/{int(label):04d}", exist_ok=True)
            open(f"{files}/{int(label):04d}/{os.path.basename(name)}", "wb").write(data)
PY
feed='{"source":{"tar":"'$work'/shards/bench-*.tar"},"order":{"shuffle":"global","seed":1},"fields":{"image":{"from":"jpg","as":"image","apply":[{"randomResizedCrop":{"size":224}},{"flip":{"p":0.5}},{"normalize":"imagenet"}]},"label":{"from":"cls","as":"int"}},"batch":256}'
for workers in 1 4 8 12 14 16; do
  echo "workers $workers: $(node "$cli" run "$feed" --workers "$workers" --epochs 2 --depth 6 --json | python3 -c 'import json,sys; d=json.load(sys.stdin); print(round(d["samplesPerSecond"]), "img/s, first batch", round(d["firstBatchMs"]), "ms")')"
done | tee "$out/workers.txt"
python3 "$(dirname "$0")/jax_check.py" "$work/shards/bench-*.tar" 2>&1 | tail -5 | tee "$out/jax.txt"
python3 "$(dirname "$0")/train.py" --shards "$work/shards/bench-*.tar" --files "$work/files" --cores "$cores" \
  --workers $((cores - 2)) --out "$out/gpu.json"
