/**
 * Made-up text for the demo: three corpora of JSON lines, whose words come as often as in real text (few often, most
 * seldom), with documents of very different lengths. The same for the same seed.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Random } from '../../../core/basics/random.js'
import { writeWhole } from '../../../core/system/files/draft.js'

/** The corpora, and bytes of a document of each in the mean. */
const CORPORA = { web: 1_500, code: 4_000, books: 12_000 } as const
export type Corpus = keyof typeof CORPORA

const COMMON =
  'the of and to in a is that it was for on are with as his they be at one have this from or had by not but what all ' +
  'were we when your can said there use an each which she do how their if will up other about out many then them these so ' +
  'some her would make like him into time has look two more write go see number no way could people my than first water been ' +
  'call who oil its now find long down day did get come made may part over new sound take only little work know place year ' +
  'live me back give most very after thing our just name good sentence man think say great where help through much before line ' +
  'right too mean old any same tell boy follow came want show also around form three small set put end does another well large'
const SYLLABLES =
  'ba be bo ca ce co da de di do el en er fa fe fi ga ge gi ha he in is ka ke la le li lo ma me mi mo na ne ni no or pa pe po ra re ri ro sa se si so ta te ti to un va ve vi za'
const WORDS = 6_000

/** Writes a file of JSON lines for each corpus, of about so many bytes. Gives their paths. */
export function makeText(folder: string, bytes: number, seed = 7): Record<Corpus, string> {
  mkdirSync(folder, { recursive: true })
  const words = vocabulary(new Random().key(seed, 0, 0, 0))
  const made = Object.entries(CORPORA).map(([name, mean], i) => {
    const random = new Random().key(seed, 0, i, 1)
    const lines: string[] = []
    for (let size = 0; size < bytes; ) {
      const text = prose(words, random, mean)
      lines.push(`${JSON.stringify({ id: `${name}-${lines.length}`, text })}\n`)
      size += text.length
    }
    const path = join(folder, `${name}.jsonl`)
    writeWhole(path, lines.join(''))
    return [name, path]
  })
  return Object.fromEntries(made) as Record<Corpus, string>
}

function vocabulary(random: Random): string[] {
  const syllables = SYLLABLES.split(' ')
  const words = COMMON.split(' ')
  while (words.length < WORDS) {
    const parts = Array.from({ length: 1 + random.int(4) }, () => syllables[random.int(syllables.length)])
    words.push(parts.join(''))
  }
  return words
}

/** A word: that of rank r comes about 1/r as often as the first. */
function word(words: readonly string[], random: Random): string {
  return words[Math.floor(words.length ** random.next()) - 1]
}

/** A length around a mean, most below it and some far above. */
function lengthAround(mean: number, random: Random): number {
  return Math.max(20, Math.min(20 * mean, -mean * Math.log(1 - random.next())))
}

function prose(words: readonly string[], random: Random, mean: number): string {
  const wanted = lengthAround(mean, random)
  let text = ''
  while (text.length < wanted) {
    const sentence = Array.from({ length: 4 + random.int(18) }, () => word(words, random)).join(' ')
    const end = ['.', '.', '.', '?', '!', ';'][random.int(6)]
    text += `${sentence[0].toUpperCase()}${sentence.slice(1)}${end}${random.int(6) === 0 ? '\n\n' : ' '}`
  }
  return text
}
