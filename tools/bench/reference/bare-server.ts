/** A bare Fastify route as a process: the floor under the wallet API (bare.ts). It ends when its parent does. */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';

const app = Fastify({ logger: false });
app.get('/', async () => ({ hello: 'world' }));
await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.((app.server.address() as AddressInfo).port);
process.once('disconnect', () => process.exit());
