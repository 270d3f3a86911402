/** What a wrong definition is told. */
import { expect } from 'vitest'
import { DefinitionError } from '../../packages/core/basics/errors.js'
import { validateFeed } from '../../packages/core/define/check/validate.js'

/** Expects a definition to be refused, at this path and with such a message. */
export function expectRefused(definition: unknown, path: string, message: RegExp): void {
  let error: unknown
  try {
    validateFeed(definition)
  } catch (caught) {
    error = caught
  }
  expect(error).toBeInstanceOf(DefinitionError)
  expect((error as DefinitionError).path).toBe(path)
  expect((error as DefinitionError).message).toMatch(message)
}
