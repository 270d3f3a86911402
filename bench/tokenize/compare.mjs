// Compares our tokenizer with the package `tokenizers`: MB of text a CPU second, each in a process of its own, in one pass over texts of which none
// is there twice. Then the worst cases, and how long it takes to open a vocabulary that is kept.
//   node bench/tokenize/corpus.mjs FOLDER; node bench/tokenize/compare.mjs FOLDER [--save]
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tokenizerJson } from '../../test/golden/tokenize/vocabularies.mjs'
import { median, root, stamp } from '../support.mjs'

const [folder] = process.argv.slice(2)
const NAMES = ['r50k', 'cl100k', 'o200k', 'llama3']
const CORPORA = { mixed: { bars: [40, 15] }, multilingual: { bars: [18, 6] } }
const ROUNDS = 3

const one = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [join(import.meta.dirname, 'one.mjs'), folder, ...args.map(String)], {
      encoding: 'utf8',
      env: { ...process.env, MILLRACE_CACHE: join(folder, 'cache') },
      maxBuffer: 1 << 26,
    }),
  )

for (const name of NAMES) {
  const path = join(folder, `${name}.json`)
  if (!existsSync(path)) writeFileSync(path, JSON.stringify(await tokenizerJson(name)))
}

const lines = []
const say = line => {
  lines.push(line)
  console.log(line)
}
say('| corpus | vocabulary | millrace | tokenizers, encode | tokenizers, encodeBatch | ratio |')
say('| --- | --- | --- | --- | --- | --- |')
for (const corpus of Object.keys(CORPORA)) {
  for (const name of NAMES) {
    one('ours', name, corpus) // compiles the vocabulary, where it is not kept
    const ours = Array.from({ length: ROUNDS }, () => one('ours', name, corpus).rate)
    const [single, batch] = ['encode', 'encodeBatch'].map(how => one(how, name, corpus).rate)
    const ratio = median(ours) / Math.max(single, batch)
    say(
      `| ${corpus} | ${name} | ${median(ours).toFixed(0)} (${ours.map(rate => rate.toFixed(0)).join(', ')}) | ${single.toFixed(2)} | ${batch.toFixed(2)} | ${ratio.toFixed(1)} |`,
    )
  }
}
say('')
say('| worst cases | r50k 1 MB | 4 MB | time | cl100k 1 MB | 4 MB | time | o200k 1 MB | 4 MB | time |')
say('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |')
const worst = ['r50k', 'cl100k', 'o200k'].map(name => one('worst', name))
for (const kind of Object.keys(worst[0])) {
  const cells = worst.flatMap(({ [kind]: [small, large] }) => [
    small.toFixed(1),
    large.toFixed(1),
    `${((4 * small) / large).toFixed(1)}×`,
  ])
  say(`| ${kind} | ${cells.join(' | ')} |`)
}
say('')
say('| opening a vocabulary that is kept | open, CPU ms | attach, CPU ms | tables, MB |')
say('| --- | --- | --- | --- |')
for (const name of NAMES) {
  const runs = Array.from({ length: 5 }, () => one('open', name))
  const [open, attach] = ['open', 'attach'].map(key => median(runs.map(run => run[key])).toFixed(1))
  say(`| ${name} | ${open} | ${attach} | ${(runs[0].bytes / 1e6).toFixed(1)} |`)
}

if (process.argv.includes('--save')) {
  const { date, machine, versions, commit } = stamp()
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/tokenizers/package.json'), 'utf8'))
  const text = `# Tokenising

\`node bench/tokenize/corpus.mjs FOLDER PYTHON-PACKAGES; node bench/tokenize/compare.mjs FOLDER --save\`, ${date.slice(0, 10)}, ${machine},
Millrace ${versions.millrace} (${commit}), Node ${versions.node}, tokenizers ${version}. MB of UTF-8 a CPU second (all threads), one pass in a fresh process,
vocabulary opened before; ours ${ROUNDS} times, the median and all. The package has the first 3 MB of the same texts. Corpora: \`mixed\`, 34 MB, of which
60 % are manual pages, documents and docstrings, and 40 % code in Python; \`multilingual\`, 32 MB, messages and manual pages in 28 languages that are not
written in Latin letters. No document is there twice.

${lines.join('\n')}
`
  writeFileSync(join(root, 'bench/results/tokenize.md'), text)
}
