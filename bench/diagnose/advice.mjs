// Advice is carried out as a user would carry it out: by the option it names, or by changing the planted setting as it says.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { account } from '../../build/observe/account/account.js'
import { fitModel } from '../../build/observe/model/fit.js'
import { predict } from '../../build/observe/model/predict.js'

/** Words of an action, and the setting that follows from it. Undefined: it can't be done here. */
const ACTIONS = [
  [
    /storage that is twice as fast/i,
    ({ store }) => store?.bytesPerSecond && { store: { ...store, bytesPerSecond: 2 * store.bytesPerSecond } },
  ],
  [/your function twice as fast/i, ({ fn }) => fn && { fn: halved(fn) }],
  [
    /^one core more/i,
    ({ cores, workers }, lane) =>
      cores.length < lane.cores.length && {
        cores: lane.cores.slice(0, cores.length + 1),
        workers: Math.max(workers, cores.length + 1),
      },
  ],
  [/^stop the other processes/i, ({ hogs }) => hogs > 0 && { hogs: 0 }],
  [/^pack the files into shards/i, ({ feed }) => feed === 'files' && { feed: 'small' }],
]

const halved = fn =>
  Object.fromEntries(
    Object.entries(fn).map(([key, value]) => [key, /rounds|sleepMs/i.test(key) ? value / 2 : value]),
  )

/** The first advice that can be carried out, and the changes it makes. */
export function appliable(diagnosis, setting, lane) {
  for (const remedy of diagnosis.remedies ?? []) {
    if (remedy.set !== undefined) return { remedy, change: remedy.set }
    for (const [words, how] of ACTIONS) {
      const change = words.test(remedy.action) && how(setting, lane)
      if (change) return { remedy, change }
    }
  }
  return undefined
}

/**
 * The prediction, given the cores that others use in the second window, too: they may be others than when `diagnose` looked. Hogs that
 * the advice ends are its own doing.
 */
export function givenOthers(record, { remedy, change }, others) {
  if (typeof remedy.predictedGain !== 'number') return undefined
  const evidence = JSON.parse(gunzipSync(readFileSync(record)))
  const then = evidence.host?.otherCores
  if (typeof then !== 'number') return remedy.predictedGain
  const f = fitModel(evidence, account(evidence))
  const set = remedy.set ?? {}
  const promised = change.hogs === 0 ? f.cores.value + then : f.cores.value
  const found = Math.max(0.1, f.cores.value + then - others.at(-1))
  const rate = cores => predict(f, { ...set, cores }).samplesPerSecond
  return (1 + remedy.predictedGain) * (rate(found) / rate(promised)) - 1
}
