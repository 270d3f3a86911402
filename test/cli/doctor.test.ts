/** `millrace doctor` as users run it: what it refuses. */
import { expect, test } from 'vitest'
import { doctor } from '../../src/cli/verbs/doctor.js'

test('--seconds without --pid is refused', async () => {
  const run = doctor.run({ args: [], values: { seconds: 2 } } as never)
  await expect(run).rejects.toThrow('--seconds says how long a process is watched: give --pid PID with it')
})
