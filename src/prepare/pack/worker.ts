/** The thread that packs shards. */

import { serve } from '../threads.js'
import { shardPacker } from './shard.js'

serve(shardPacker)
