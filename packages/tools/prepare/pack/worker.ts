/** The thread that packs shards. */
import { loadPlugins } from '../../../core/source/plugins.js'
import { loadKinds } from '../../../core/source/registry.js'
import { serve } from '../../../core/system/node/threads.js'
import { shardPacker } from './shard.js'

serve(shardPacker, async ({ manifest, plugins }) => {
  await loadPlugins(plugins)
  await loadKinds([manifest])
})
