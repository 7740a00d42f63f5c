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
import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseArgs } from 'node:util';
import Fastify from 'fastify';

/** What every event has. Fields that this program does not read are left out. */
interface Event {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly resource: { readonly type: string; readonly id: string };
}

/** A message that was signed longer ago may be a replay. */
const toleranceS = 5 * 60;
/** Ids of events that were done; a real receiver keeps them beside what it did, in one transaction. */
const rememberedMax = 10_000;

/** The body's HMAC-SHA256 under the secret as it is written, as 64 lowercase hexadecimal characters. */
function isSigned(body: Buffer, secret: string, signature: unknown): boolean {
  if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) return false;
  const expected = createHmac('sha256', secret).update(body).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}

/**
 * The signature of Standard Webhooks, which covers id and time as well: a recording cannot be given a new date. During a
 * rotation the header carries one under each secret; one that fits is enough.
 */
function isFresh(body: Buffer, secret: string, headers: Readonly<Record<string, unknown>>): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceS)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  return signatures.split(' ').some((each) => {
    const given = Buffer.from(each.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function main(secret: string, port: number): Promise<void> {
  const app = Fastify({ bodyLimit: 1024 * 1024 });
  // The signature is over bytes: parsed and written again, they may be others.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const done = new Set<string>();

  app.post('/hooks', (request, reply) => {
    const body = request.body as Buffer;
    if (!isSigned(body, secret, request.headers['x-svc-signature']) || !isFresh(body, secret, request.headers)) {
      process.stdout.write('refused: the signature is not right\n');
      return reply.code(401).send();
    }
    const event = JSON.parse(body.toString()) as Event;
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
