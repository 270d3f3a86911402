/** The thread that verifies rows. */
import { loadPlugins } from '../../source/plugins.js'
import { serve } from '../../system/node/threads.js'
import { rowVerifier } from './rows.js'

serve(rowVerifier, ({ plugins }) => loadPlugins(plugins))
