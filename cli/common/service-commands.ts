/** The commands for a running service (service/actions.ts), which the list of all commands shows without loading them. */
export const serviceCommandTexts = {
  faults: 'arm, list and end faults of a running sandbox',
  nodes: 'list, crash, pause, resume and restart the processes of a running sandbox',
  clock: 'show and advance the clock of a running sandbox',
  snapshots: 'take, list and restore snapshots of a running sandbox',
  sessions: 'list and show sessions: keys and signatures',
  wallets: 'list and show wallets',
  intents: 'list, show, approve, reject and cancel transaction intents',
  report: 'write the page of what a running sandbox has recorded',
} as const;

export type ServiceCommandName = keyof typeof serviceCommandTexts;
