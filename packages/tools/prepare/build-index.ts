/** Builds the index of a source ahead of its first run. */
import { rmSync } from 'node:fs'
import type { SourceJson } from '../../core/define/types.js'
import { fileIndexPaths } from '../../core/source/index/of-file.js'
import { openSource, shardsOf } from '../../core/source/registry.js'
import type { OnProgress, OpenContext } from '../../core/source/source.js'

export interface BuildIndexOptions {
  root: string
  /** Takes away what is there first. */
  force: boolean
  onProgress?: OnProgress
  onNotice?: (text: string) => void
}

export interface IndexBuilt {
  kind: string
  samples: number
  indexBytes: number
}

export async function buildIndex(json: SourceJson, options: BuildIndexOptions): Promise<IndexBuilt> {
  const { root, force, onProgress: progress, onNotice: notice } = options
  const context: OpenContext = { root, wanted: ['cls'], check: 'files', progress, notice }
  if (force) for (const path of await indexPaths(json, context)) rmSync(path, { force: true })
  const { kind, fingerprint, indexBytes } = await openSource(json, context)
  return { kind, samples: fingerprint.count, indexBytes }
}

/** Where indexes of this source lie or may lie. */
async function indexPaths(json: SourceJson, context: OpenContext): Promise<string[]> {
  const shards = await shardsOf(json, context.root)
  if (shards !== undefined) return shards.flatMap(fileIndexPaths)
  // A list of files has one index, other sources have one for each file: their manifests say where.
  const { index, files } = await openSource(json, context)
  if (typeof index === 'string') return [index]
  const each = Array.isArray(files) ? (files as { index?: unknown }[]).map(file => file?.index) : []
  return each.filter(path => typeof path === 'string')
}
