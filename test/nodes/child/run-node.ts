/** A node process for tests: its configuration comes as JSON in the first argument; SIGTERM stops it. */
import { runNode } from '../../../nodes/main.ts';
import { parseRoster } from '../../../proto/roster.ts';

const [text] = process.argv.slice(2);
if (text === undefined) throw new Error('usage: run-node <json>');
const { nodeId, roster, coordinatorUrl, storeDir } = JSON.parse(text) as Record<string, string>;
const node = await runNode({
  nodeId: Number(nodeId),
  roster: parseRoster(roster!),
  identitySeed: new Uint8Array(32).fill(Number(nodeId)),
  joinSecret: new Uint8Array(32).fill(9),
  coordinatorUrl: coordinatorUrl!,
  storeDir: storeDir!,
  allowClientDealers: false,
  storageKey: new Uint8Array(32).fill(7),
  logLevel: 'debug',
});
process.once('SIGTERM', () => void node.stop());
