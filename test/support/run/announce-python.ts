/** Says before the tests which of them this machine's Python lets run. They are skipped without it, never failed. */
import { spawnSync } from 'node:child_process'

/** What needs which package: the import's name, and what is compared or run by it. */
const USES: Record<string, string> = {
  numpy: 'the Python client, datasets and functions in Python',
  pytest: "the Python client's own tests (with numpy)",
  webdataset: 'shards, read by webdataset',
  torch: 'batches in PyTorch',
  torchvision: "torchvision's transforms",
  jax: 'batches in JAX',
}

export default function announce(): void {
  const code = `import importlib.util, json, platform
print(json.dumps([platform.python_version(), [n for n in ${JSON.stringify(Object.keys(USES))} if importlib.util.find_spec(n)]]))`
  const { stdout, status } = spawnSync('python3', ['-c', code], { encoding: 'utf8' })
  if (status !== 0) {
    console.log('There is no python3: all that runs or compares with Python is skipped.')
    return
  }
  const [version, there]: [string, string[]] = JSON.parse(stdout)
  const lacking = Object.keys(USES).filter(name => !there.includes(name))
  const skipped = lacking.map(name => `\n  without ${name} is skipped: ${USES[name]}`)
  console.log(`Tests use python3, ${version}, with ${there.join(', ') || 'no packages'}${skipped.join('')}`)
}
