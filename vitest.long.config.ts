/** The long tests: random files, models and chains against reference readers. `npm run test:long`; CONTRIBUTING.md says when. */
import { defineConfig } from 'vitest/config'
import base from './vitest.config.js'

export default defineConfig({
  test: {
    ...base.test,
    include: ['test/long/**/*.test.ts'],
    exclude: [],
    // Thousands of files: an hour on two cores with other work on them.
    testTimeout: 7_200_000,
    hookTimeout: 7_200_000,
  },
})
