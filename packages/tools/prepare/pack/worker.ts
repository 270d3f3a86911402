/** The thread that packs shards. */

import { loadPlugins } from '../../../core/source/plugins.js'
import { serve } from '../../../core/system/node/threads.js'
import { shardPacker } from './shard.js'

serve(shardPacker, ({ plugins }) => loadPlugins(plugins))
