/**
 * The order of test files. Without times of an earlier run Vitest begins with the largest files; the file that takes longest
 * may be one of the smallest, would then come last, and one core would wait for it.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take more than 15 s, the longest first. */
const LONG = [
  'test/python.test.ts',
  'packages/core/test/engine/life/deaths.test.ts',
  'packages/core/test/engine/life/stuck.test.ts',
  'test/conformance/slow-store.test.ts',
  'packages/tools/test/cli/main.test.ts',
  'test/plugins.test.ts',
  'test/conformance/units.test.ts',
  'packages/core/test/engine/functions.test.ts',
  'packages/llm/test/prepare/tokenize/tokenize.test.ts',
  'packages/core/test/engine/python-functions.test.ts',
  'packages/core/test/engine/exact/bytes.test.ts',
  'test/examples.test.ts',
  'test/compatibility.test.ts',
  'packages/core/test/engine/python.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONG.indexOf(relative(this.ctx.config.root, moduleId))
      return at < 0 ? LONG.length : at
    }
    // A stable sort: the others stay as they are.
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
