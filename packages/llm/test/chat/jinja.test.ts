/** Templates print what Jinja prints, and refuse what it refuses: test/golden/chat/expressions.py has asked it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type JsonObject, parseJson } from '../../chat/json.js'
import { ChatTemplate } from '../../chat/template.js'

const golden = parseJson(
  readFileSync(new URL('../../../../test/golden/chat/expressions.json', import.meta.url), 'utf8'),
) as JsonObject
const variables = golden.get('variables') as JsonObject
const expected = golden.get('expected') as [string, string | null][]

function render(template: string): string | null {
  try {
    const marks = { open: '\ue000', close: '\ue001' }
    return new ChatTemplate(template, 'test').render([], { tools: null, variables }, marks).text
  } catch {
    return null
  }
}

test('expressions and statements', () => {
  const [wrong, refused, lax] = [[] as string[], [] as string[], [] as string[]]
  for (const [template, text] of expected) {
    const got = render(template)
    if (got === text) continue
    const reported = `${template}: ${JSON.stringify(got)}, not ${JSON.stringify(text)}`
    ;(got === null ? refused : text === null ? lax : wrong).push(reported)
  }
  expect(wrong).toEqual([])
  // Of more than 6,000. What is refused here is odd (the remainder of a text and a list); where we print and Jinja does not, it
  // looks for a list in a set.
  expect(expected.length).toBeGreaterThan(6000)
  expect(refused.length, refused.join('\n')).toBeLessThanOrEqual(40)
  expect(lax.length, lax.join('\n')).toBeLessThanOrEqual(8)
})
