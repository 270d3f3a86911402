/** The thread that verifies rows. */
import { loadPlugins } from '../../../core/source/plugins.js'
import { loadKinds } from '../../../core/source/registry.js'
import { serve } from '../../../core/system/node/threads.js'
import { rowVerifier } from './rows.js'

serve(rowVerifier, async ({ manifest, plugins }) => {
  await loadPlugins(plugins)
  await loadKinds([manifest])
})
