// One thread of the ceiling: decodes its share of the JPEGs fully, into the same memory, again and again.
import { parentPort, workerData } from 'node:worker_threads'
import '../build/all/registry.js'
import { attachSource, openSource } from '../build/core/source/registry.js'
import { RowReader } from '../build/core/source/row-reader.js'
import { Reader } from '../build/core/store/reader.js'
import { Stores } from '../build/core/store/stores.js'
import { Workspace } from '../build/core/system/memory/workspace.js'
import { decodeImage, imageInfo } from '../build/pixels/decode/picture/image.js'

const { source: json, threads, thread } = workerData
const source = attachSource(await openSource(json, { root: '/', wanted: ['jpg'] }))
const rows = new RowReader(source, new Reader(new Stores()))
const pictures = []
for (let row = thread; row < source.count; row += threads) {
  pictures.push(rows.read(row, ['jpg']).sample.jpg.slice())
}
const work = Workspace.alone()
parentPort.postMessage('ready')
parentPort.once('message', seconds => {
  const end = performance.now() + seconds * 1000
  const begun = performance.now()
  let done = 0
  while (performance.now() < end) {
    const bytes = pictures[done++ % pictures.length]
    work.reset()
    decodeImage(bytes, imageInfo(bytes), { channels: 3 }, work)
  }
  parentPort.postMessage((done / (performance.now() - begun)) * 1000)
})
