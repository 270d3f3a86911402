/** The thread that verifies rows. */
import { loadPlugins } from '../../../core/source/plugins.js'
import { serve } from '../../../core/system/node/threads.js'
import { rowVerifier } from './rows.js'

serve(rowVerifier, ({ plugins }) => loadPlugins(plugins))
