#!/usr/bin/env node
/** The command line, with all that it may name. */
import './registry.js'
import '../tools/cli/main.js'
