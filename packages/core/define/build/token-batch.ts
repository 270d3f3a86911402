/** Types alone: what a batch of a feed of tokens has, where the feed leaves its fields to the source or lists columns. */
import type { Dtype } from '../../basics/dtype.js'
import type { TokenFieldJson } from '../token-feed.js'
import type { SourceJson } from '../types.js'
import type { Field, Form } from './field.js'

/** Columns by their names, or fields that take them. */
export type TokenFieldMap = Record<string, TokenFieldJson>

/** A kernel has fields of its own. */
export type PlainSource = Exclude<SourceJson, { kernel: unknown }>

/** The fields of a feed of tokens: all usual columns of the source, or those that the feed names. */
export type TokenFields<Source, Columns> = Columns extends readonly (infer Name extends string)[]
  ? { [N in Name]: Field<'npy', TypeOf<N>, FormOf<Source>> }
  : Columns extends TokenFieldMap
    ? { [N in keyof Columns]: Field<'npy', GivenType<Columns[N]>, FormOf<Source>> }
    : { [N in Usual<Source>]: Field<'npy', TypeOf<N>, FormOf<Source>> }

type GivenType<F> = F extends { dtype: infer D extends Dtype }
  ? D
  : F extends { from: infer From extends string }
    ? TypeOf<From>
    : Dtype

/** The usual element type of a column. */
type TypeOf<Name extends string> = Name extends 'lossMask' | `${Part}Mask` | `${Part}_attention_mask`
  ? 'bool'
  : Name extends 'segments' | 'cuSeqlens' | 'cuCount' | 'cuLongest' | 'seqLens' | 'seq_lens'
    ? 'i32'
    : 'i64'

type FormOf<Source> = Source extends
  | { chat: { pairs: true; ragged: true } }
  | { tokens: { ragged: true } }
  | { chat: { ragged: true } }
  ? Extract<Form, 'ragged'>
  : Source extends { chat: { pairs: true } }
    ? Extract<Form, 'padded'>
    : 'dense'

/** Columns that a feed has where it names none; of a source whose options the types don't know, those of either shift. */
type Usual<Source> = Source extends { chat: { pairs: true } }
  ? UsualOfPairs<Source>
  : Source extends { chat: infer Options }
    ? UsualOfTokens<{ tokens: Options }>
    : UsualOfTokens<Source>

type UsualOfPairs<Source> = Source extends { chat: { naming: 'hf' } }
  ? `${Part}_ids` | MaskOf<Source, `${Part}_attention_mask`>
  : Part | MaskOf<Source, `${Part}Mask`>
type Part = 'prompt' | 'chosen' | 'rejected'
/** Ragged rows tell their lengths. */
type MaskOf<Source, Names> = Source extends { chat: { ragged: true } } ? never : Names

type UsualOfTokens<Source> = Source extends { tokens: { naming: 'hf' } }
  ? 'input_ids' | 'labels' | 'position_ids' | 'seq_lens'
  : Source extends { tokens: { shift: 'model' } }
    ? 'tokens' | 'labels'
    : Source extends { tokens: unknown }
      ? 'input' | 'target'
      : 'input' | 'target' | 'tokens' | 'labels'
