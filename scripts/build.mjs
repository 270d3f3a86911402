// Builds dist/: TypeScript by plain tsc (worker files keep their URLs), and the compiled kernels beside it.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
// Files of modules that are gone would go on living in dist/, and into packages.
rmSync(join(root, 'dist'), { recursive: true, force: true })
const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], {
  stdio: 'inherit',
})
if (tsc.status !== 0) process.exit(tsc.status ?? 1)

// Assets that tsc does not copy: compiled kernels, kernels that are compiled for the GPU at hand, the report's page.
for (const [folder, extension] of [
  ['transform/kernels', '.wasm'],
  ['transform/kernels/cuda', ''],
  ['observe/page', ''],
]) {
  const from = join(root, 'src', folder)
  if (!existsSync(from)) continue
  mkdirSync(join(root, 'dist', folder), { recursive: true })
  for (const name of readdirSync(from))
    if (name.endsWith(extension)) copyFileSync(join(from, name), join(root, 'dist', folder, name))
}
const cli = join(root, 'dist/cli/main.js')
if (existsSync(cli)) chmodSync(cli, 0o755)
