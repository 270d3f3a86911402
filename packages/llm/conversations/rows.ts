/** Renders and tokenises a run of conversations. Runs in threads. */
import { DecodeError } from '../../core/basics/errors.js'
import { RowReader } from '../../core/source/row-reader.js'
import type { Manifest, Nesting } from '../../core/source/source.js'
import { Reader } from '../../core/store/reader.js'
import { Stores } from '../../core/store/stores.js'
import type { Handler } from '../../core/system/node/threads.js'
import { CHAT_COLUMNS, readConversation } from '../chat/conversation.js'
import { type Json, type JsonObject, parseJson } from '../chat/json.js'
import { PAIR_COLUMNS, readPair } from '../chat/pairs.js'
import { ChatRenderer, type ChatSettings } from '../chat/render.js'
import { ChatTemplate, controlTokens } from '../chat/template.js'
import { ChatTokenizer, type TrainedTokens } from '../chat/tokens.js'
import type { OpenedTokenizer } from '../tokenize/open.js'
import { chatColumns, sampleJson } from './columns.js'

/** Plain data. */
export interface ChatSetup {
  manifest: Manifest
  tokenizer: OpenedTokenizer
  /** The template, and the one for conversations with tools, where there is such a one. */
  template?: string
  withTools?: string
  templateName: string
  tokens: ReadonlyMap<string, string>
  variables: string
  settings: Pick<ChatSettings, 'train' | 'now' | 'contents'>
  pairs: boolean
}

export interface ChatRun {
  begin: number
  end: number
}

export interface ChatRunDone {
  /** Of all documents, one after the other. */
  tokens: Uint32Array
  mask: Uint8Array
  /** Tokens of each document: one a row, three a pair. None for what is bad. */
  lengths: Uint32Array
  bad: { row: number; why: string }[]
  /** Rows whose contents have the name of a special token. */
  named: number
}

export function chatRows(setup: ChatSetup, attach: Nesting['attach']): Handler<ChatRun, ChatRunDone> {
  const source = attach(setup.manifest)
  const reader = new RowReader(source, new Reader(new Stores({ access: 'sequential' })))
  const columns = chatColumns(source, columnsOf(setup))
  const ready = encoderOf(setup)
  return async ({ begin, end }, report) => {
    const encode = await ready
    const parts: TrainedTokens[] = []
    const done = { bad: [] as ChatRunDone['bad'], named: 0 }
    const documents = setup.pairs ? 3 : 1
    const lengths = new Uint32Array(documents * (end - begin))
    for (let row = begin; row < end; row++) {
      try {
        const { sample } = await reader.read(row, columns)
        const json = sampleJson(sample)
        if (json.size === 0) throw new DecodeError(noneOf(columnsOf(setup), source.columns))
        const { encoded, named } = encode(json)
        encoded.forEach(({ tokens }, i) => {
          lengths[documents * (row - begin) + i] = tokens.length
        })
        parts.push(...encoded)
        if (named) done.named++
      } catch (error) {
        // A file that can't be read is no fault of the conversation.
        if (!(error instanceof DecodeError)) throw error
        done.bad.push({ row, why: error.message })
      }
      if ((row - begin) % 64 === 63) report(64)
    }
    report((end - begin) % 64)
    return { ...joined(parts), lengths, ...done }
  }
}

const columnsOf = ({ pairs }: ChatSetup): readonly string[] => (pairs ? PAIR_COLUMNS : CHAT_COLUMNS)

/** Columns that make no conversation by themselves. */
const BESIDE: ReadonlySet<string> = new Set(['tools', 'chat_template_kwargs'])

const noneOf = (wanted: readonly string[], columns: readonly string[]): string =>
  `it has none of ${wanted.filter(name => !BESIDE.has(name)).join(', ')}; columns of the data are ${columns.slice(0, 20).join(', ')}`

type Encode = (sample: JsonObject) => { encoded: TrainedTokens[]; named: boolean }

/** Makes what turns a sample into documents. */
async function encoderOf(setup: ChatSetup): Promise<Encode> {
  const { template, withTools, templateName, tokenizer, settings } = setup
  const variables = new Map<string, Json>([...setup.tokens, ...(parseJson(setup.variables) as JsonObject)])
  const rendererOf = async (source: string | undefined) =>
    new ChatRenderer(source === undefined ? undefined : new ChatTemplate(source, templateName), {
      ...settings,
      variables,
      control: controlTokens(source, tokenizer.vocabulary.added),
    })
  const plain = await rendererOf(template)
  const tooled = withTools === undefined ? plain : await rendererOf(withTools)
  const rendererFor = (sample: JsonObject) => ((sample.get('tools') ?? null) === null ? plain : tooled)
  const tokens = new ChatTokenizer(tokenizer)
  if (setup.pairs)
    return sample => {
      const rendered = readPair(sample, rendererFor(sample))
      return { encoded: tokens.pair(rendered), named: rendered.named }
    }
  return sample => {
    const rendered = rendererFor(sample).render(readConversation(sample))
    return { encoded: [tokens.encode(rendered)], named: rendered.named }
  }
}

function joined(parts: readonly TrainedTokens[]): TrainedTokens {
  const count = parts.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const [tokens, mask] = [new Uint32Array(count), new Uint8Array(count)]
  let at = 0
  for (const part of parts) {
    tokens.set(part.tokens, at)
    mask.set(part.mask, at)
    at += part.tokens.length
  }
  return { tokens, mask }
}
