/** The documents of all files, counted through them, while they are packed: 4 bytes each, and where each begins. */
import type { OnProgress } from '../../source.js'
import { attachDocuments, type OpenedDocuments } from '../formats/documents.js'
import { documentLengths } from '../formats/lengths.js'
import type { Choice } from './choice.js'

/** Documents between two of which the start is kept: a cache line of lengths. */
const STEP = 16

export class Corpus {
  readonly count: number

  constructor(
    /** Tokens of each document. */
    readonly lengths: Uint32Array,
    /** First token of every STEP-th document, or, where files have holes between documents, of every one. */
    private readonly starts: Float64Array,
    private readonly step: 1 | typeof STEP,
    private readonly choice: Choice | undefined,
  ) {
    this.count = lengths.length
  }

  /** Tokens of a document; 0 where it was not chosen. */
  tokens(document: number): number {
    return this.choice === undefined || this.choice.has(document) ? this.lengths[document] : 0
  }

  /** Its first token, counted through all files. */
  start(document: number): number {
    const { step, lengths } = this
    if (step === 1) return this.starts[document]
    let at = Math.floor(document / STEP) * STEP
    let start = this.starts[at / STEP]
    for (; at < document; at++) start += lengths[at]
    return start
  }
}

export async function readCorpus(
  opened: OpenedDocuments,
  choice: Choice | undefined,
  progress?: OnProgress,
): Promise<Corpus> {
  const lengths = await documentLengths(opened, (done, total) =>
    progress?.(done, total, 'reading lengths of documents', 'documents'),
  )
  return isDense(opened, lengths) ? dense(lengths, choice) : walked(opened, lengths, choice)
}

/** Whether documents fill their files without holes, so that lengths tell where each begins. */
function isDense(opened: OpenedDocuments, lengths: Uint32Array): boolean {
  let document = 0
  return opened.every(({ count, file }) => {
    let sum = 0
    for (let i = 0; i < count; i++) sum += lengths[document++]
    return sum === file.tokens
  })
}

function dense(lengths: Uint32Array, choice: Choice | undefined): Corpus {
  const starts = new Float64Array(Math.ceil(lengths.length / STEP))
  let start = 0
  for (let i = 0; i < lengths.length; i++) {
    if (i % STEP === 0) starts[i / STEP] = start
    start += lengths[i]
  }
  return new Corpus(lengths, starts, STEP, choice)
}

function walked(opened: OpenedDocuments, lengths: Uint32Array, choice: Choice | undefined): Corpus {
  const starts = new Float64Array(lengths.length)
  let at = 0
  let base = 0
  attachDocuments(opened).forEach((documents, i) => {
    for (let k = 0; k < documents.count; k++) starts[at++] = base + documents.start(k)
    base += opened[i].file.tokens
  })
  return new Corpus(lengths, starts, 1, choice)
}
