import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/run/longest-first.js'

/**
 * What a test file that needs a process of its own has in it: mocks, a changed environment, processes, threads, the built engine.
 * The others share processes, and so the modules that they load: that takes a third less time.
 */
const APART =
  /\bvi\.|process\.(env|chdir|on|exit|argv|memoryUsage)\b|support\/(engine|program|python|slow-store|units-source|protocol-client)|child_process|worker_threads|new Worker|Notes\.shared|dist\/|build\//

/** The test files whose text is as asked for; without the long ones (test/long, `*.long.test.ts`), for `npm run test:long`. */
export function testFiles(wanted: (text: string) => boolean): string[] {
  const root = import.meta.dirname
  return ['test', 'packages'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map(name => join(folder, name))
      .filter(path => path.endsWith('.test.ts') && !/^test\/long\/|\.long\.test\.ts$/.test(path))
      .filter(path => wanted(readFileSync(join(root, path), 'utf8'))),
  )
}

export default defineConfig({
  test: {
    setupFiles: 'packages/all/registry.ts',
    globalSetup: 'test/support/run/announce-python.ts',
    pool: 'forks',
    // One more than CI has cores: tests of processes that die or hang mostly wait.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // No test depends on being quick: these only end a run that hangs. Two cores with other work on them take ten times as
    // long as they do alone.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 600_000 } },
    projects: [
      { extends: true, test: { name: 'apart', include: testFiles(text => APART.test(text)) } },
      {
        extends: true,
        test: { name: 'together', include: testFiles(text => !APART.test(text)), isolate: false },
      },
    ],
  },
})
