/**
 * A rotated token, and one that it issued, is the same voice on intents: not a second one, not the initiator's first, not a
 * stranger's.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Door, openDoor, tenant } from './support/door.ts';
import { oneEth, somewhere, startWorld, type World } from './support/world.ts';

let world: World;
let door: Door;
let path: string;

beforeEach(async () => {
  world = await startWorld();
  door = await openDoor(world);
  path = `${(await world.wallet(tenant, { ETH: 5n * oneEth })).id}/transaction-intents`;
});
afterEach(async () => {
  await door.app.close();
  await world.stop();
});

async function pending(quorum: number, approvers: string[] = []): Promise<string> {
  world.judges.decision = { decision: 'require_approval', approvals: { quorum, approvers, timeoutS: 3_600 } };
  const transfer = { asset: 'ETH', amount: '1', destination: { address: somewhere } };
  return (await door.post(path, transfer)).body.id;
}

test('the initiator of an intent has no vote on it after a rotation either', async () => {
  const id = await pending(1);
  const reply = await door.post(`${path}/${id}/approve`, {}, 'makerRotated');
  expect(reply).toMatchObject({ status: 403, body: { error: { details: [{ issue: 'initiator_may_not_approve' }] } } });
});

test('a rotation between two votes makes no second voice', async () => {
  const id = await pending(2);
  await door.post(`${path}/${id}/approve`, {}, 'ann');
  const again = await door.post(`${path}/${id}/approve`, {}, 'annRotated');
  expect(again).toMatchObject({ status: 200, body: { status: 'pending_approval', version: 2 } });
  expect((await door.post(`${path}/${id}/approve`, {}, 'bob')).body.status).toBe('approved');
});

test('an approver that the policy names stays one', async () => {
  const id = await pending(1, ['tok_ann']);
  const reply = await door.post(`${path}/${id}/approve`, {}, 'annRotated');
  expect(reply).toMatchObject({ status: 200, body: { status: 'approved', approvals: [{ by: 'tok_ann' }] } });
});

test('two approvers with one key and one body both vote, or learn that they did not', async () => {
  const id = await pending(2);
  const key = { 'idempotency-key': 'approve' };
  expect((await door.post(`${path}/${id}/approve`, {}, 'ann', key)).status).toBe(200);
  const second = await door.post(`${path}/${id}/approve`, {}, 'bob', key);
  expect(second).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'idempotency_key_reused' }] } } });
  expect((await door.post(`${path}/${id}/approve`, {}, 'bob')).body.status).toBe('approved');
});

test('a line of issued tokens is one voice: none on its own intents, and one on those of others', async () => {
  const [first, second] = await Promise.all([lineOf(3), lineOf(3)]);
  world.judges.decision = { decision: 'require_approval', approvals: { quorum: 2, approvers: [], timeoutS: 3_600 } };
  const transfer = { asset: 'ETH', amount: '1', destination: { address: somewhere } };
  const { body } = await door.postAs(first[1]!, `/v1/wallets/${path}`, transfer);
  const vote = (token: string) => door.postAs(token, `/v1/wallets/${path}/${body.id}/approve`, {});
  for (const token of first) {
    expect(await vote(token)).toMatchObject({
      status: 403,
      body: { error: { details: [{ issue: 'initiator_may_not_approve' }] } },
    });
  }
  for (const token of second)
    expect((await vote(token)).body).toMatchObject({ status: 'pending_approval', version: 2 });
  expect((await door.post(`${path}/${body.id}/approve`, {}, 'bob')).body.status).toBe('approved');
});

/** Tokens of which each has issued the next one. */
async function lineOf(length: number): Promise<string[]> {
  const scopes = ['access_tokens:write', 'intents:write', 'intents:approve'] as const;
  const line = [(await door.issuing.issueToken({ tenant, environment: 'sandbox', scopes })).token];
  while (line.length < length) {
    line.push((await door.postAs(line.at(-1)!, '/v1/access-tokens', { scopes })).body.token);
  }
  return line;
}
