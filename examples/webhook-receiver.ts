/**
 * A receiver of webhooks on Fastify that believes nothing: it checks the signature over the very bytes that came, in
 * constant time, before it parses them; it refuses messages that are too old; and it does every event once, although
 * deliveries may come twice.
 *
 *     npm start                                                          # in one terminal
 *     node dist/examples/webhook-receiver.js --secret whsec_…            # in another, with the secret of the webhook
 *
 * Options, or the environment variables in brackets: --secret [WEBHOOK_SECRET] (of POST /v1/webhooks), --port [PORT]
 * (4000). It prints one line for each event and answers 204; 401 when the signature is not right.
 */
import { parseArgs } from 'node:util';
import Fastify from 'fastify';
import { verifyWebhook } from 'signmesh/client';

/** Ids of events that were done; a real receiver keeps them beside what it did, in one transaction. */
const rememberedMax = 10_000;

async function main(secret: string, port: number): Promise<void> {
  const app = Fastify({ bodyLimit: 1024 * 1024 });
  // The signature is over bytes: parsed and written again, they may be others.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const done = new Set<string>();

  app.post('/hooks', async (request, reply) => {
    const event = await verifyWebhook(request.body as Buffer, request.headers, secret).catch(() => undefined);
    if (event === undefined) {
      process.stdout.write('refused: the signature is not right\n');
      return reply.code(401).send();
    }
    if (!done.has(event.id)) {
      if (done.size >= rememberedMax) done.delete(done.values().next().value!);
      done.add(event.id);
      process.stdout.write(`verified: ${event.sequence} ${event.type} ${event.resource.id}\n`);
    }
    return reply.code(204).send();
  });

  process.stdout.write(`listens on ${await app.listen({ host: '127.0.0.1', port })}/hooks\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close());
}

try {
  const { values } = parseArgs({ options: { secret: { type: 'string' }, port: { type: 'string' } } });
  const secret = values.secret ?? process.env.WEBHOOK_SECRET ?? '';
  const port = Number(values.port ?? process.env.PORT ?? 4000);
  if (!/^whsec_[A-Za-z0-9+/]+=*$/.test(secret)) throw new Error('--secret must be the whsec_… of a webhook');
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535)) throw new Error('--port must be 0 to 65535');
  await main(secret, port);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = (error as { code?: unknown }).code === 'EADDRINUSE' ? 1 : 2;
}
