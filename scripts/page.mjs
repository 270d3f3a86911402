// Builds the page of dashboard and reports: one HTML file with one <style> and one <script>, which needs nothing else.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'

/** The most that the page may weigh (bytes): it is sent over ssh, and is a part of each report. */
const MOST = 150_000
/** `{{name}}` in the template: within a comment in style and script, so that each is valid as it is. */
const PLACE = /(?:\n\/\* )?\{\{(\w+)\}\}(?: \*\/\n)?/g

export async function buildPage(from, to) {
  const script = await bundle(join(from, 'main.tsx'))
  const style = styles(join(from, 'style'))
  const parts = { style, script }
  const template = readFileSync(join(from, 'index.html'), 'utf8')
  const page = template.replace(PLACE, (_, name) => parts[name])
  if (Buffer.byteLength(page) > MOST)
    throw new Error(`The page has ${Buffer.byteLength(page)} bytes; ${MOST} is the most.`)
  mkdirSync(dirname(to), { recursive: true })
  writeFileSync(to, page)
  // Preact is in it.
  copyFileSync(
    new URL('../node_modules/preact/LICENSE', import.meta.url),
    join(dirname(to), 'LICENSE.preact'),
  )
}

async function bundle(entry) {
  const build = await rolldown({
    input: entry,
    platform: 'browser',
    checks: { bundlerTimings: false }, // a slow machine is no fault
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } },
    transform: { target: 'es2022' },
  })
  const { output } = await build.generate({ format: 'iife', minify: true, comments: false })
  await build.close()
  if (output.length !== 1) throw new Error(`The page is ${output.length} files, not one.`)
  // `</script` would end the script, and `<!--` change how it is read.
  return output[0].code.trim().replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')
}

/** All style sheets, in the order of their names, without comments and indentation. */
function styles(folder) {
  const names = readdirSync(folder).filter(name => name.endsWith('.css'))
  const text = names.sort().map(name => readFileSync(join(folder, name), 'utf8'))
  return text
    .join('\n')
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim()
}
