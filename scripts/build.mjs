// Builds dist/, what is shipped: the entry points and the programs of threads, bundled (bundle.mjs), their declarations, the
// page of dashboard and reports as one file (page.mjs), and what else is needed beside them: compiled kernels, and the libraries that
// decode JPEG. And build/, for tests, benchmarks and scripts, which look inside: one file a module, by plain tsc.
//
//   node scripts/build.mjs [--if-changed]     with it, nothing is done where the last build was made from the same files
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleEngine, bundleTypes } from './bundle.mjs'
import { buildPage } from './page.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [packages, dist, build] = ['packages', 'dist', 'build'].map(folder => join(root, folder))
const stamp = join(build, 'made-from')
const made = digestOfInputs()
const isThere =
  existsSync(stamp) && existsSync(join(dist, 'index.js')) && readFileSync(stamp, 'utf8') === made
if (isThere && process.argv.includes('--if-changed')) process.exit()
// Files of modules that are gone would go on living there, and in packages.
for (const folder of [dist, build]) rmSync(folder, { recursive: true, force: true })
const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], {
  stdio: 'inherit',
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
await bundleEngine(packages, dist)
await bundleTypes(build, dist)
await buildPage(join(packages, 'observe/page'), join(dist, 'observe/page/index.html'))

// Compiled kernels, kernels that are compiled for the GPU at hand, licences of libraries.
for (const [folder, extension] of [
  ['core/codec/kernels', '.wasm'],
  ['llm/prepare/tokenize/kernels', '.wasm'],
  ['llm/tokenize/kernels', '.wasm'],
  ['llm/tokens/kernels', '.wasm'],
  ['llm/tokenize/shipped', '.json'],
  ['pixels/transform/kernels', '.wasm'],
  ['pixels/transform/kernels/cuda', ''],
  ...readdirSync(join(packages, 'pixels/operators'), { withFileTypes: true }).flatMap(entry =>
    entry.isDirectory() ? [[`pixels/operators/${entry.name}`, '.cuh']] : [],
  ),
  ['core/system/libraries', ''],
]) {
  for (const to of [dist, build]) {
    mkdirSync(join(to, folder), { recursive: true })
    for (const name of readdirSync(join(packages, folder)))
      if (name.endsWith(extension)) copyFileSync(join(packages, folder, name), join(to, folder, name))
  }
}

// TurboJPEG, from a package of which nothing else is needed: as a dependency it would bring 90 others along.
const prebuilt = join(root, 'node_modules/@julusian/jpeg-turbo/prebuilds')
for (const system of ['linux-x64', 'linux-x64-musl', 'linux-arm64']) {
  const to = join(dist, 'core/system/libraries', system)
  mkdirSync(to)
  copyFileSync(join(prebuilt, `jpeg-turbo-${system}`, 'libturbojpeg.so.0'), join(to, 'libturbojpeg.so.0'))
}

chmodSync(join(dist, 'cli/main.js'), 0o755)
writeFileSync(stamp, made)

/** A digest of all that a build is made from: packages without their tests, these scripts, settings and dependencies. */
function digestOfInputs() {
  const hash = createHash('sha256')
  const files = ['packages', 'scripts'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter(
        entry =>
          entry.isFile() && !/[\\/](test|node_modules)([\\/]|$)/.test(entry.parentPath.slice(root.length)),
      )
      .map(entry => join(entry.parentPath, entry.name)),
  )
  for (const path of [...files.sort(), join(root, 'tsconfig.json'), join(root, 'package-lock.json')])
    hash
      .update(`${path.slice(root.length)}\0`)
      .update(readFileSync(path))
      .update('\0')
  return hash.digest('hex')
}
