/** The thread that tokenises conversations. */
import { attachSource, loadKinds } from '../../core/source/registry.js'
import { serve } from '../../core/system/node/threads.js'
import { type ChatSetup, chatRows } from './rows.js'

serve(
  (setup: ChatSetup) => chatRows(setup, attachSource),
  ({ manifest }) => loadKinds([manifest]),
)
