/**
 * The sources as JavaScript, for tests that need real processes: src/ is transpiled file by file into a temporary
 * folder, so that such tests don't depend on a build being there and up to date.
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'sucrase'
import { temporaryFolder } from '../folder.js'

const repository = join(import.meta.dirname, '../../..')

/** Transpiles the given rooms (and `basics/errors.ts`); returns the folder that holds them. */
export function compileRooms(...rooms: string[]): string {
  const out = temporaryFolder()
  symlinkSync(join(repository, 'node_modules'), join(out, 'node_modules'))
  writeFileSync(join(out, 'package.json'), '{"type": "module"}')
  const files = rooms.flatMap(room =>
    readdirSync(join(repository, 'src', room), { recursive: true }).map(name => join(room, String(name))),
  )
  for (const file of ['basics/errors.ts', ...files].filter(name => /(?<!\.d)\.ts$/.test(name))) {
    const code = readFileSync(join(repository, 'src', file), 'utf8')
    const target = join(out, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, transform(code, { transforms: ['typescript'], disableESTransforms: true }).code)
  }
  return out
}
