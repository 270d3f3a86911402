/** The documents of all files, counted through them, while they are packed: 4 bytes each. */
import type { OnProgress } from '../../../core/source/source.js'
import { attachDocuments, documentLengths, type OpenedDocuments } from '../formats/documents.js'
import type { Choice } from './choice.js'

export class Corpus {
  readonly count: number

  constructor(
    /** Tokens of each document. */
    readonly lengths: Uint32Array,
    /** First token of each document, where files have holes between them; else lengths tell. */
    private readonly places: Float64Array | undefined,
    private readonly choice: Choice | undefined,
  ) {
    this.count = lengths.length
  }

  /** Tokens of a document; 0 where it was not chosen. */
  tokens(document: number): number {
    return this.choice === undefined || this.choice.has(document) ? this.lengths[document] : 0
  }

  /** Tells the first token of documents, counted through all files. They are asked for in ascending order. */
  starts(): (document: number) => number {
    const { places, lengths } = this
    if (places !== undefined) return document => places[document]
    let next = 0
    let start = 0
    return document => {
      for (; next < document; next++) start += lengths[next]
      return start
    }
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
  return new Corpus(lengths, isDense(opened, lengths) ? undefined : placesIn(opened, lengths.length), choice)
}

/** Documents fill their files without holes, so that lengths say where each begins. */
function isDense(opened: OpenedDocuments, lengths: Uint32Array): boolean {
  let document = 0
  return opened.every(({ count, file }) => {
    let sum = 0
    for (let i = 0; i < count; i++) sum += lengths[document++]
    return sum === file.tokens
  })
}

function placesIn(opened: OpenedDocuments, count: number): Float64Array {
  const places = new Float64Array(count)
  let at = 0
  let base = 0
  attachDocuments(opened).forEach((documents, i) => {
    for (let k = 0; k < documents.count; k++) places[at++] = base + documents.start(k)
    base += opened[i].file.tokens
  })
  return places
}
