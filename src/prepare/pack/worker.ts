/** The thread that packs shards. */

import { loadPlugins } from '../../source/plugins.js'
import { serve } from '../../system/node/threads.js'
import { shardPacker } from './shard.js'

serve(shardPacker, ({ plugins }) => loadPlugins(plugins))
