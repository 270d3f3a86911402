import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/run/longest-first.js'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    // These run by `npm run test:long`.
    exclude: [...configDefaults.exclude, 'test/long/**'],
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
  },
})
