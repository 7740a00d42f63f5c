/** Starts two live clusters at once, as a test does, and never stops them. */
import { cluster } from '../../../../dist/clients/testing/index.js';

const options = { live: true, nodes: 2, environment: { SIGNMESH_NODES_PER_PROCESS: '2' } };
const both = await Promise.all([cluster(options), cluster(options)]);
process.stdout.write(`${JSON.stringify(both.map(({ url, token }) => ({ url, token })))}\n`);
setInterval(() => undefined, 1_000);
