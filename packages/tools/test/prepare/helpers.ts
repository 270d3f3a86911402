/** A small folder of real JPEGs, and the command line as users run it. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodeJpeg } from '../../../core/system/codecs/turbojpeg.js'

export const CLI = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url))
if (!existsSync(CLI)) throw new Error('the command line is not built: npm run build')

export const temporary = () => mkdtempSync(join(tmpdir(), 'millrace-test-'))

/** A JPEG that no other seed gives. */
export function jpeg(seed: number, side = 32): Uint8Array {
  const rgb = Uint8Array.from({ length: side * side * 3 }, (_, i) => (i * (seed + 3) + seed * 31) & 255)
  return encodeJpeg(rgb, side, side, 90)
}

/** `classes` folders with `each` pictures; some names that need care. */
export function pictureFolder(root: string, classes: string[], each: number, side = 32): void {
  classes.forEach((name, c) => {
    mkdirSync(join(root, name), { recursive: true })
    for (let i = 0; i < each; i++) {
      const file = i === 0 ? 'with.dots and space.jpg' : `${String(i).padStart(4, '0')}.jpg`
      writeFileSync(join(root, name, file), jpeg(c * each + i, side))
    }
  })
}

/** Files of a folder that are not hidden, with the hash of each. */
export function hashes(folder: string): Record<string, string> {
  const names = readdirSync(folder)
    .filter(name => !name.startsWith('.'))
    .sort()
  return Object.fromEntries(
    names.map(name => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  )
}

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** Starts `millrace …`; `ended` resolves when it is over. */
export function start(args: string[], options: { shell?: string; env?: NodeJS.ProcessEnv } = {}) {
  const env = { ...process.env, ...options.env }
  const child = options.shell
    ? spawn('bash', ['-c', `${options.shell}; exec "$@"`, 'bash', process.execPath, CLI, ...args], { env })
    : spawn(process.execPath, [CLI, ...args], { env })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', data => (stdout += data))
  child.stderr.on('data', data => (stderr += data))
  const ended = new Promise<Ended>(resolve =>
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr })),
  )
  return { child, ended }
}

export const millrace = (...args: string[]) => start(args).ended
