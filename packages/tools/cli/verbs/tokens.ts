/** `millrace tokens`: verbs for files of tokens. */
import { group } from '../command.js'

export const tokens = group({
  name: 'tokens',
  summary: 'looks at files of tokens, checks, converts, joins and divides them',
  about:
    'For token files of Megatron-LM (.bin and .idx), nanoGPT, llm.c, NumPy and OLMo. FILES are paths, patterns, or what the names of a .bin ' +
    'and its .idx begin with.',
  verbs: {
    inspect: async () => (await import('./tokens/inspect.js')).inspect,
    verify: async () => (await import('./tokens/verify.js')).verify,
    convert: async () => (await import('./tokens/convert.js')).convert,
    merge: async () => (await import('./tokens/merge.js')).merge,
    split: async () => (await import('./tokens/split.js')).split,
    show: async () => (await import('./tokens/show.js')).show,
  },
  examples: [
    ["millrace tokens inspect 'corpus-*.bin'", 'how many documents and tokens there are'],
    ['millrace tokens show corpus --document 7 --tokenizer tokenizer.json', 'a document as text'],
  ],
})
