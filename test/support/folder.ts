/** Folders of a test file's own, gone when it is done. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []
afterAll(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'))
  made.push(folder)
  return folder
}

/** Writes files by relative path, with the folders they need. */
export function writeFiles(root: string, files: Record<string, string | Uint8Array>): void {
  for (const [name, data] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), data)
  }
}
