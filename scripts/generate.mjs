// Writes what Python, CUDA and docs/protocol.md have in common with TypeScript (generate/files.mjs says what, and from
// which files). `--check` only says which files are not current. Needs build/.
//
//   npm run build && npm run generate [-- --check]
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { generatedFiles } from './generate/files.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const built = file =>
  import(pathToFileURL(join(root, file.replace(/^packages/, 'build').replace(/ts$/, 'js'))).href)

let stale = 0
for (const [path, text] of Object.entries(await generatedFiles(root, built))) {
  const file = join(root, path)
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
  stale++
  if (process.argv.includes('--check')) {
    console.error(`${path} is not current: run npm run build && npm run generate, and commit what it writes`)
    continue
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  console.log(path)
}
if (process.argv.includes('--check') && stale > 0) process.exitCode = 1
