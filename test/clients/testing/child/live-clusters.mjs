/** Starts so many live clusters at once, as a test does, and never stops them. */
import { cluster } from '../../../../dist/clients/testing/index.js';

const options = { live: true, nodes: 2, environment: { SIGNMESH_NODES_PER_PROCESS: '2' } };
const all = await Promise.all(Array.from({ length: Number(process.argv[2]) }, () => cluster(options)));
process.stdout.write(`${JSON.stringify(all.map(({ url, token }) => ({ url, token })))}\n`);
setInterval(() => undefined, 1_000);
