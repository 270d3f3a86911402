// Builds dist/: TypeScript by plain tsc (worker files keep their URLs), the program of worker threads as one file
// (bundle.mjs), the page of the dashboard as one file (page.mjs), and what else is needed beside it: compiled kernels, and the libraries that decode JPEG.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleThread } from './bundle.mjs'
import { buildPage } from './page.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
// Files of modules that are gone would go on living in dist/, and into packages.
rmSync(join(root, 'dist'), { recursive: true, force: true })
const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], {
  stdio: 'inherit',
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)
await bundleThread(join(root, 'dist'), 'engine/make/maker.js')
await buildPage(join(root, 'src/dashboard/page'), join(root, 'dist/dashboard/page/index.html'))

// Assets that tsc does not copy: compiled kernels, kernels that are compiled for the GPU at hand, the report's page,
// licences of libraries.
for (const [folder, extension] of [
  ['codec/kernels', '.wasm'],
  ['prepare/tokenize/kernels', '.wasm'],
  ['tokenize/kernels', '.wasm'],
  ['tokenize/shipped', '.json'],
  ['transform/kernels', '.wasm'],
  ['transform/kernels/cuda', ''],
  ['observe/page', ''],
  ['system/libraries', ''],
]) {
  const from = join(root, 'src', folder)
  if (!existsSync(from)) continue
  mkdirSync(join(root, 'dist', folder), { recursive: true })
  for (const name of readdirSync(from))
    if (name.endsWith(extension)) copyFileSync(join(from, name), join(root, 'dist', folder, name))
}

// TurboJPEG, from a package of which nothing else is needed: as a dependency it would bring 90 others along.
const prebuilt = join(root, 'node_modules/@julusian/jpeg-turbo/prebuilds')
for (const system of ['linux-x64', 'linux-x64-musl', 'linux-arm64']) {
  const to = join(root, 'dist/system/libraries', system)
  mkdirSync(to)
  copyFileSync(join(prebuilt, `jpeg-turbo-${system}`, 'libturbojpeg.so.0'), join(to, 'libturbojpeg.so.0'))
}

const cli = join(root, 'dist/cli/main.js')
if (existsSync(cli)) chmodSync(cli, 0o755)
