/** Compiled, not run: what TypeScript must know of the installed package. */
import { createClient, type Intent } from 'signmesh/client';
import {
  CeremonyFailed,
  type ClusterOptions,
  cluster,
  type Fault,
  type Key,
  StillPending,
  type TestCluster,
  type Webhook,
} from 'signmesh/testing';

const options: ClusterOptions = { nodes: 3 };
const custody: TestCluster = await cluster(options);
const key: Key = await custody.makeKey({ threshold: 2, totalNodes: 3 });
const fault: Fault = { fault: 'bad_partial', target: 'node/2' };
export const triggerCount: number = await (await custody.inject(fault)).triggerCount();
const { signature } = await custody.sign(key, 'hello');
export const bytes: Uint8Array = signature;
export const state: string | undefined = (await custody.session('s'))?.state;
export const codeOf = (error: unknown): string => (error instanceof CeremonyFailed ? error.receipt.reasonCode : '');
// @ts-expect-error There is no such option: the types are not `any`.
await cluster({ colour: 'blue' });
// @ts-expect-error There is no such fault.
await custody.inject({ fault: 'bad_mood', target: 'node/2' });

const client = createClient({ baseUrl: 'http://127.0.0.1:8080', token: 'svc_sk_test_x' });
const destination = { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' };
export const intent: Intent = await client.intents.create('wal_1', { asset: 'ETH', amount: '1', destination });
// @ts-expect-error An amount is a string.
await client.intents.create('wal_1', { asset: 'ETH', amount: 1, destination });

export const simulated = createClient({ baseUrl: custody.url, token: custody.token, ports: custody.clientPorts });
export const own: typeof fetch = custody.fetch;
const hook: Webhook = await custody.webhooks.open({
  events: ['transaction_intent.*'],
  respond: async (request) => ((await request.text()) === '' ? 400 : new Response(null, { status: 204 })),
});
const approved: Intent = await custody.approve(intent, { comment: 'checked' });
const completed = await custody.events.next('transaction_intent.completed', { of: approved });
export const amount: string = completed.data.object.amount;
export const told: string = (await hook.next('transaction_intent.completed')).event.data.object.status;
export const pending = (error: unknown): readonly string[] => (error instanceof StillPending ? error.pending : []);
// @ts-expect-error There is no such event type.
await custody.events.next('transaction_intent.complete');
// @ts-expect-error There is no such status.
await custody.waitFor(intent, { until: 'paid' });
