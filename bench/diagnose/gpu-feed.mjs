// For gpu.py: makes the data (--data FOLDER), or writes a case's feed and plugin into a folder, and says where they are.
import { makeData } from './data.mjs'
import { writeCase } from './write-case.mjs'

const [first, data, setting] = process.argv.slice(2)
if (first === '--data') await makeData(data)
else {
  const { feed, options } = writeCase(first, data, JSON.parse(setting))
  const at = options.indexOf('--plugin')
  console.log(JSON.stringify({ feed_file: feed, plugin: at < 0 ? null : options[at + 1] }))
}
