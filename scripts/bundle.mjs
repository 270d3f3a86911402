// Bundles packages/ into dist/: the package's entry points and every program of a thread or a process of its own, with shared
// chunks, in one run. A module is in one file only, so a user's module that imports Millrace in a thread meets the classes,
// registries and native memory that the thread itself has.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

/** The entry points, by their names in dist/: modules of packages/. */
const IMPORTED = {
  index: 'all/index',
  plugin: 'all/plugin',
  observe: 'all/observe',
  'order/index': 'core/order/index',
}
const PUBLIC = { ...IMPORTED, 'cli/main': 'all/cli' }
/** The thread that makes rows: beside `index`, what has to load fastest. */
const MAKER = 'core/engine/make/maker'
/** What every thread loads first: it names all formats. */
const REGISTRY = 'all/registry'

/** Packages are not bundled, but for what the compiler itself needs: Node 20 has no `using`. */
const isPackage = id => !/^([./\0]|@oxc-project\/runtime)/.test(id)
/** A file beside the module: in dist/ it lies where it would if each module were a file. */
const BESIDE = /new URL\(([^()]+), import\.meta\.url\)/g
/** The module that knows where dist/ is: in a chunk of its own, since chunks lie one folder below dist/. */
const PLACE = '\0place'
const PLACE_CODE = "export const place = path => new URL('../' + path, import.meta.url)"

/** Writes the bundle of `packages` to `dist`. */
export async function bundleEngine(packages, dist) {
  const bundle = await rolldown({
    input: Object.fromEntries(
      [...Object.entries(PUBLIC), ...programs(packages)].map(([name, module]) => [
        name,
        join(packages, `${module}.ts`),
      ]),
    ),
    platform: 'node',
    external: isPackage,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    transform: { target: 'es2022' },
    tsconfig: false,
    // A slow machine is no fault, nor that something which is loaded late somewhere is loaded at once elsewhere.
    checks: { bundlerTimings: false, ineffectiveDynamicImport: false },
    plugins: [
      {
        name: 'millrace',
        resolveId: id => (id === PLACE ? id : undefined),
        load: id => (id === PLACE ? PLACE_CODE : undefined),
        transform(code, id) {
          if (id === PLACE) return undefined
          const own = JSON.stringify(placeOf(relative(packages, id)))
          const placed = code.replace(BESIDE, `new URL($1, place(${own}))`)
          if (placed === code) return undefined
          // On the same line, so that lines of source maps stay right.
          return { map: null, code: `import { place } from ${JSON.stringify(PLACE)};${placed}` }
        },
      },
    ],
  })
  const maker = join(packages, `${MAKER}.ts`)
  let first
  /** A chunk of the modules for which `test` holds. What they import comes with them, but for what earlier groups have. */
  const group = (name, priority, test) => ({
    priority,
    name(id, graph) {
      first ??= {
        index: loads(join(packages, `${PUBLIC.index}.ts`), graph),
        maker: new Set([...loads(maker, graph), ...loads(join(packages, `${REGISTRY}.ts`), graph)]),
      }
      return test(id) ? name : null
    },
  })
  await bundle.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { legal: true, annotation: true, jsdoc: false },
    entryFileNames: '[name].js',
    chunkFileNames: ({ facadeModuleId: id, name }) =>
      `chunks/${id ? relative(packages, id).replace(/\.ts$/, '').replaceAll('/', '-') : name}.js`,
    codeSplitting: {
      groups: [
        group('place', 4, id => id === PLACE),
        group('shared', 3, id => first.index.has(id) && first.maker.has(id)),
        group('engine', 2, id => first.index.has(id)),
        group('maker', 1, id => first.maker.has(id) && id !== maker), // which runs when it is loaded
      ],
    },
  })
  await bundle.close()
}

/** Writes the declarations of the entry points that are imported, from those that tsc wrote to `build`; what several share is a chunk. */
export async function bundleTypes(build, dist) {
  const bundle = await rolldown({
    input: Object.fromEntries(
      Object.entries(IMPORTED).map(([name, module]) => [name, join(build, `${module}.d.ts`)]),
    ),
    external: isPackage,
    checks: { bundlerTimings: false },
    plugins: [
      ...ADDED_TYPES.map(added => withAddedTypes(build, added)),
      dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false }),
    ],
  })
  await bundle.write({ dir: dist, chunkFileNames: 'chunks/[name].d.ts' })
  await bundle.close()
}

/** Interfaces of core that packages above it add to (`declare module`), and the files that do. */
const ADDED_TYPES = [
  { name: 'FormatTypes', of: 'core/define/types', from: /format\.d\.ts$/ },
  { name: 'KindTypes', of: 'core/define/types', from: /^pixels\/kinds\/registry\.d\.ts$/ },
  { name: 'ObservedTypes', of: 'core/deliver/observer', from: /^observe\/observer\.d\.ts$/ },
]

/** In one file of declarations there is no such module: there the interface itself extends what they add. */
function withAddedTypes(build, { name: to, of, from: adds }) {
  const ADDED = new RegExp(`declare module '[^']*' \\{\\s*interface ${to} extends (\\w+) \\{\\s*\\}\\s*\\}`)
  const types = join(build, `${of}.d.ts`)
  return {
    name: to,
    transform(code, id) {
      // TypeScript names some modules of other packages by the package.
      if (id !== types) return { code: code.replace(ADDED, '').replaceAll('"@millrace/', `"${build}/`) }
      const files = readdirSync(build, { recursive: true }).filter(file => adds.test(file))
      const added = files.flatMap(file => {
        const text = readFileSync(join(build, file), 'utf8')
        const [, name] = ADDED.exec(text) ?? []
        if (name === undefined) return []
        // The descriptor may have it from a file beside it.
        const imported = new RegExp(`import type \\{[^}]*\\b${name}\\b[^}]*\\} from '([^']+)'`).exec(text)
        const from = join(build, imported === null ? file : join(dirname(file), imported[1]))
        return [{ name, from: relative(dirname(types), from).replace('.d.ts', '.js') }]
      })
      const imports = added.map(
        ({ name, from }) => `import type { ${name} } from '${from.startsWith('.') ? from : `./${from}`}';`,
      )
      const names = added.map(({ name }) => name).join(', ')
      return {
        code: `${imports.join('\n')}\n${code.replace(`interface ${to} {`, `interface ${to} extends ${names} {`)}`,
      }
    },
  }
}

/** Where a module would lie in dist/ if each were a file. */
function placeOf(path) {
  const entry = Object.entries(PUBLIC).find(([, module]) => path === `${module}.ts`)
  return entry === undefined ? path : entry[0]
}

/** The programs that packages/ start: `new URL('./worker.js', import.meta.url)`, by their names in dist/. */
function programs(packages) {
  const found = new Map()
  for (const file of readdirSync(packages, { recursive: true })) {
    if (!file.endsWith('.ts') || /^[^/]+\/test\//.test(file)) continue
    for (const [, path] of readFileSync(join(packages, file), 'utf8').matchAll(
      /new URL\('([^']+)\.js', import\.meta\.url\)/g,
    )) {
      const module = relative(packages, join(packages, file, '..', path))
      if (!Object.values(PUBLIC).includes(module)) found.set(module, module)
    }
  }
  return found
}

/** The modules that an entry loads at once, without what it imports later. */
function loads(entry, graph) {
  const found = new Set()
  const visit = id => {
    if (found.has(id) || id === PLACE) return
    found.add(id)
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) visit(imported)
  }
  visit(entry)
  return found
}
