/** A field under construction: the base of all builders of fields. */
import type { Dtype, DtypeArrays } from '../../basics/dtype.js'
import type { FieldJson, FieldLayout, Kind } from '../types.js'
import type { UserFunction } from './call.js'

export type Form = FieldLayout['form']

/** `.shape(480, 640)`, or as in JSON `.shape([480, 640])`. */
export type TwoNumbers<A extends number, B extends number> = [A, B] | [readonly [A, B]]

/** Its type knows what the field will be in a batch: kind, element type and form. */
export class Field<K extends Kind = Kind, D extends Dtype = Dtype, F extends Form = Form> {
  /** For the types of a batch only; never there. */
  declare readonly is: { kind: K; dtype: D; form: F }

  constructor(
    /** The field as JSON, without its function. */
    readonly json: FieldJson,
    readonly fn?: UserFunction,
  ) {}

  protected with(change: Partial<FieldJson>, fn: UserFunction | undefined = this.fn): this {
    const Same = this.constructor as new (json: FieldJson, fn?: UserFunction) => this
    return new Same({ ...this.json, ...change }, fn)
  }
}

/** A field that a function of one's own may change, after decoding. */
export class MappedField<K extends Kind, V, D extends Dtype, F extends Form> extends Field<K, D, F> {
  /** A function over the decoded value; it may use the random source, which is the same in every run, and be async. */
  map(fn: UserFunction<V, V>): this {
    return this.with({}, fn as UserFunction)
  }
}

/** NaN and infinities, which JSON can't write as numbers, by name. */
export function missingJson(value: number): number | string {
  if (Number.isNaN(value)) return 'nan'
  return Number.isFinite(value) ? value : value > 0 ? 'inf' : '-inf'
}

/** What a field is in a batch. */
export type ValueOf<F> =
  F extends Field<Kind, infer D, infer Shape>
    ? Shape extends 'text'
      ? string[]
      : Shape extends 'ragged'
        ? { values: DtypeArrays[D]; offsets: Int32Array }
        : DtypeArrays[D]
    : never
