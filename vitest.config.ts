import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts'],
    globalSetup: 'test/support/announce-python.ts',
    pool: 'forks',
    maxWorkers: 2,
    // No test depends on being quick: these only end a run that hangs. Two cores with other work on them take ten times as
    // long as they do alone.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
