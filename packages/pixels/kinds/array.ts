/** Arrays of any number of dimensions. */
import { isTiled } from '../../core/basics/array.js'
import { DefinitionError } from '../../core/basics/errors.js'
import { at } from '../../core/basics/mistakes.js'
import { decodeNpy, MOST_HEADER } from '../../core/basics/npy/file.js'
import type { Decoder } from '../../core/define/kind.js'
import { dtypeOf, varyingLayout } from '../../core/define/layout.js'
import { bytesOfElements } from '../../core/define/limits.js'
import { arrayForDevice, arrayStaysOnCpu, compileDeviceArray, redoArray } from '../transform/device/array.js'
import { compileArray, compileVaryingArray, compileWindows } from '../transform/plain/array-field.js'
import { missingBytes, missingRow } from '../transform/plain/missing.js'
import { arrayOps } from './array-operators.js'

/** Elements may be stored as wide as this, wider than the field's. */
const WIDEST_BYTES = 8
/** An array of which a part is cut out: how large it is, its field does not say. */
const WHOLE_BYTES = 1024 * 1024 * 1024

export const npy: Decoder = {
  name: 'npy',
  says: 'An array of numbers, in any number of dimensions.',
  example: { from: 'npy', as: 'npy', shape: [16, 16], dtype: 'f32' },
  rules: {
    dtypes: [],
    keys: ['apply', 'dtype', 'follow', 'shape', 'ragged', 'pad', 'compression', 'missing', 'map'],
    traits: { columns: ['npy'] },
    follows: ['npy'],
    operators: arrayOps,
    limit(field) {
      const isCut = field.follow !== undefined || field.apply.some(({ name }) => name === 'crop')
      return { most: isCut ? WHOLE_BYTES : bytesOfElements(field, WIDEST_BYTES, MOST_HEADER) }
    },
  },
  layout(name, fields, path) {
    const field = fields[name]
    const here = at(path, name)
    const dtype = dtypeOf(field, here)
    const { shape, ragged, pad } = field
    if (shape === undefined) throw new DefinitionError(here, 'npy needs shape, the shape of the arrays')
    if (ragged === undefined && pad === undefined) return { name, dtype, shape: [...shape], form: 'dense' }
    return varyingLayout(name, field, here, { dtype, shape: shape.slice(1) })
  },
  // It looks at sizes itself, and reads arrays itself that are not read yet.
  compile(field, { layout, making }, map) {
    if (making.by === 'device') return compileDeviceArray(field)
    if (layout.windows !== undefined) return compileWindows(field, layout.windows)
    const varies = field.layout.form !== 'dense'
    return varies
      ? { ...compileVaryingArray(field, map), missing: missingBytes(field) }
      : { ...compileArray(field, map), missing: missingRow(field) }
  },
  verify: () => value =>
    isTiled(value) || decodeNpy(value instanceof Uint8Array ? value : Buffer.from(String(value))),
  device: { kind: 'compressed', staysOnCpu: arrayStaysOnCpu, layout: arrayForDevice, redo: redoArray },
}
