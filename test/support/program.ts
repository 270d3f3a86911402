/** Programs of a user's, as real processes. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { engine, MILLRACE } from './engine.js'
import { LONGEST_WAIT } from './until.js'

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

let written = 0

/** Programs in a folder. Their code may use everything that Millrace exports. */
export function programs(folder: string) {
  const write = (code: string): string => {
    const path = join(folder, `program-${process.pid}-${written++}.mjs`)
    const names = Object.keys(engine).join(', ')
    writeFileSync(path, `import { ${names} } from ${JSON.stringify(MILLRACE)}\n${code}\n`)
    return path
  }

  const start = (code: string, flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}) => {
    const child = spawn(process.execPath, [...flags, write(code)], {
      cwd: folder,
      env: { ...process.env, ...env },
    })
    // A program that hangs is killed: its status is null.
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_WAIT)
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', data => (stdout += data))
    child.stderr.on('data', data => (stderr += data))
    const ended = new Promise<Ended>(resolve =>
      child.on('close', (code, signal) => {
        clearTimeout(timer)
        resolve({ code, signal, stdout, stderr })
      }),
    )
    return { child, ended }
  }

  return { start, run: (...args: Parameters<typeof start>) => start(...args).ended }
}
