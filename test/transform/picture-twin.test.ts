/** The picture kernel's twin against the CPU's own way: the same steps, from a parameter row, give the same bytes. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Form, Word } from '../../src/transform/parameter-row.js'
import { makePicture } from '../../src/transform/twins/picture.js'
import { pictureCase, wishes } from '../support/picture-cases.js'

it('makes of a parameter row what the CPU makes of the steps', () => {
  fc.assert(
    fc.property(wishes, wish => {
      const { row, stored, form, finished } = pictureCase(wish)
      expect(Buffer.compare(makePicture(row, stored, form), finished)).toBe(0)
    }),
    { numRuns: 500 },
  )
})

it('a row without a picture is zeros', () => {
  const [wish] = fc.sample(wishes, { seed: 1, numRuns: 1 })
  const { row, form, finished } = pictureCase(wish)
  row[Word.Form] = Form.Nothing
  const made = makePicture(row, new Uint8Array(0), form)
  expect(made).toHaveLength(finished.length)
  expect(made.every(byte => byte === 0)).toBe(true)
})
