/** Conversations as rows of tokens. */
import { parseSource } from '../../core/define/check/sources.js'
import { chatParser } from '../../core/define/check/tokens/chat.js'
import type { Format } from '../../core/define/format.js'
import type { ChatJson, SourceJson } from '../../core/define/types.js'
import { inside } from '../../core/source/own-formats.js'
import type { PairsManifest } from './pairs-source.js'

/**
 * Conversations as rows of tokens, by a model's tokenizer and chat template: `chat(jsonl('chat.jsonl'), { tokenizer: 'model', length: 2048 })`.
 * The feed has `input` and `target`, in which only what the assistant wrote is a target; with `pairs: true`, pairs of answers.
 */
export const chat = <const Options extends Omit<ChatJson, 'source'>>(
  source: SourceJson,
  options: Options,
): { chat: Options & { source: SourceJson } } => ({ chat: { ...options, source } })

export const chatFormat: Format<ChatJson> = {
  name: 'chat',
  says: "Conversations as rows of tokens, by a model's tokenizer and chat template.",
  example: { source: { jsonl: 'chat.jsonl' }, tokenizer: 'model', length: 2048 },
  shape: chatParser((value, path) => parseSource(value, path, false)),
  facts: { selectsByIndex: true, remade: true, untitled: true },
  inner: inside,
  async load() {
    const { PairsSource } = await import('./pairs-source.js')
    return {
      open: async (json, context, nesting) => (await import('./open.js')).openChat(json, context, nesting),
      attach: (manifest, { attach }) => new PairsSource(manifest as PairsManifest, attach),
    }
  },
}
