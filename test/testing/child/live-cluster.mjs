/** Starts a live cluster as a test does, and never stops it. */
import { cluster } from '../../../dist/testing/index.js';

const custody = await cluster({ live: true, nodes: 2 });
process.stdout.write(`${custody.url}\n`);
setInterval(() => undefined, 1_000);
