/**
 * The long tests: random files, models and chains against reference readers; the dashboard in a browser; kernels under sanitizers;
 * and all properties with ten times as many cases.
 * `npm run test:long`; CONTRIBUTING.md says when.
 */
import { defineConfig } from 'vitest/config'
import base, { testFiles } from './vitest.config.js'

export default defineConfig({
  test: {
    ...base.test,
    // Thousands of files: an hour on two cores with other work on them.
    testTimeout: 7_200_000,
    hookTimeout: 7_200_000,
    projects: [
      {
        extends: true,
        test: { name: 'long', include: ['test/long/**/*.test.ts', 'packages/**/*.long.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'properties',
          include: testFiles(text => /fast-check|support\/fuzz/.test(text)),
          setupFiles: ['packages/all/registry.ts', 'test/long/property-runs.ts'],
        },
      },
    ],
  },
})
