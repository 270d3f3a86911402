/** The versions of the GPU's libraries: of those that this machine has, and what is said of the others. */
import { describe, expect, it } from 'vitest'
import { MissingError } from '../../../core/basics/errors.js'
import { gpuLibrary } from '../../driver/libraries/versions.js'

describe('a library of the GPU', () => {
  it.each(['cuda', 'nvrtc', 'nvjpeg', 'nvcomp'] as const)(
    '%s has a file and a version, or is missing',
    name => {
      try {
        const { path, version } = gpuLibrary(name, Number.NaN)
        expect(path).toMatch(new RegExp(`lib${name}\\.so`))
        expect(version).toMatch(/^\d+\.\d+(\.\d+)?$/)
      } catch (error) {
        expect(error).toBeInstanceOf(MissingError)
      }
    },
  )
})
