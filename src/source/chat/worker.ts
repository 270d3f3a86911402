/** The thread that tokenises conversations. */
import { serve } from '../../system/node/threads.js'
import { attachSource } from '../registry.js'
import { type ChatSetup, chatRows } from './rows.js'

serve((setup: ChatSetup) => chatRows(setup, attachSource))
