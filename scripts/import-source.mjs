// Imports a TypeScript file that build/ does not hold, such as a kernel's plain twin below test/. Started by itself, it writes such
// files as modules, for a machine without a bundler, which finds them by MILLRACE_SOURCES:
//
//   node scripts/import-source.mjs FOLDER FILE…
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = join(import.meta.dirname, '..')
const moduleName = file => `${file.replaceAll('/', '-')}.mjs`

export async function importSource(file) {
  const folder = process.env.MILLRACE_SOURCES
  if (folder) return import(pathToFileURL(join(folder, moduleName(file))).href)
  return import(`data:text/javascript,${encodeURIComponent(await bundled(file))}`)
}

async function bundled(file) {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    input: join(root, file),
    platform: 'node',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  const { output } = await bundle.generate({ format: 'esm' })
  await bundle.close()
  return output[0].code
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...files] = process.argv.slice(2)
  mkdirSync(folder, { recursive: true })
  for (const file of files) writeFileSync(join(folder, moduleName(file)), await bundled(file))
}
