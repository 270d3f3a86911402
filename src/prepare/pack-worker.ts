/** The thread that packs shards. */
import { shardPacker } from './pack-shard.js'
import { serve } from './threads.js'

serve(shardPacker)
