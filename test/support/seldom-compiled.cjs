/**
 * Processes of tests load it first (vitest.config.ts): most of their functions run too seldom to repay V8's optimization, which
 * took a tenth of the CPU time of a cluster's start. V8 asks for it after thirty times the work.
 */
require('node:v8').setFlagsFromString('--interrupt-budget=2000000');
