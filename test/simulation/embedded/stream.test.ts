/** The stream of an embedded service: a signature as it happens, a node that lies, its frames afterwards. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Client,
  createClient,
  type SandboxStreamBatch,
  type SandboxStreamMessage,
} from '../../../clients/client/index.ts';
import { type Running, signature, startService } from './support/service.ts';

const digest = Buffer.alloc(32, 7);
let running: Running;
let client: Client;

beforeAll(async () => {
  running = await startService();
  client = createClient({ baseUrl: `http://${running.service.httpAddress}`, token: running.token });
});
afterAll(() => running?.service.stop());

it('shows a signature as it happens, the fault that it met and the node that it blames', async () => {
  const scope = new AbortController();
  const stream = client.sandbox.stream({ signal: scope.signal })[Symbol.asyncIterator]();
  const nextThat = async <M extends SandboxStreamMessage>(
    isIt: (message: SandboxStreamMessage) => message is M,
  ): Promise<M> => {
    for (;;) {
      const { value } = await stream.next();
      if (value !== undefined && isIt(value)) return value;
    }
  };
  const hello = await nextThat((message) => message.kind === 'hello');
  expect(hello).toMatchObject({ world: 'embedded', clusters: [{ number: 1, threshold: 3, nodes: 5 }], missing: [] });
  expect(hello.processes.map(({ process }) => process)).toContain('node/5');

  await client.sandbox.createFault({ fault: 'bad_partial', target: 'node/2', id: 'lie', expires_in_s: 60 });
  const key = running.keys.find(({ scheme }) => scheme === 'frost_ed25519') ?? running.keys[0]!;
  const made = await signature(running, key.walletId, digest, 'streamed');
  expect(made.is_complete).toBe(true);
  const ended = await nextThat(
    (message): message is SandboxStreamBatch =>
      message.kind === 'batch' && message.sessions?.some(({ state }) => state === 'completed') === true,
  );
  const [session] = ended.sessions!.filter(({ state }) => state === 'completed');
  expect(session).toMatchObject({ kind: 'signing', reason_code: 'SIGNATURE_COMPLETED', retained: 'all' });
  expect(session).toMatchObject({ culprits: [2], faults: ['lie'] });
  const { figures } = await nextThat(
    (message): message is SandboxStreamBatch => message.kind === 'batch' && message.figures !== undefined,
  );
  expect(figures?.processes).toHaveLength(1);
  expect(figures?.processes[0]?.processes).toContain('redis');
  expect(figures?.processes[0]?.cpu).toBeGreaterThan(0);
  scope.abort();

  const frames = await client.sandbox.recording({ session: session!.session, tenant: session!.tenant });
  expect(frames.lost).toBe(false);
  expect(frames.positions.length).toBeGreaterThanOrEqual(session!.frames);
  expect(frames.events.some((event) => event.kind === 'frame' && event.faults.includes('lie'))).toBe(true);
  const again = await client.sandbox.recording({ session: session!.session, tenant: 'tn_another' });
  expect(again.events).toEqual([]);
});

it('refuses topics and positions that there are none of', async () => {
  for (const [query, field] of [
    ['topics=frames,lunch', 'topics'],
    ['after=x', 'after'],
  ] as const) {
    const answer = await running.call('GET', `/v1/sandbox/stream?${query}`);
    expect(answer).toMatchObject({ status: 400, body: { error: { details: [{ field }] } } });
  }
});
