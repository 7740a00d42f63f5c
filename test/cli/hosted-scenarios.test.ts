/** POST /v1/sandbox/scenarios on an embedded service: a file that passes, one that is ended, and what is refused before it begins. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostedScenarios } from '../../cli/scenario/hosted.ts';
import type { SandboxScenario } from '../../clients/client/index.ts';
import { scenarioRoutes } from '../../gateway/sandbox/scenario-routes.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { type Running, startService } from '../simulation/embedded/support/service.ts';
import { until } from '../support/until.ts';

let running: Running;
const host = hostedScenarios(() => {
  const { httpAddress, grpcAddress } = running.service;
  const gateways = [{ http: `http://${httpAddress}`, grpc: grpcAddress }];
  return { gateways, token: running.token, hasApiFaults: false };
});
beforeAll(async () => {
  running = await startService({ scenarios: host });
});
afterAll(() => running?.service.stop());

const path = '/v1/sandbox/scenarios';
const read = async () => (await running.must(200, 'GET', path)).scenario as SandboxScenario | null;
const file = (name: string, steps: readonly string[], more = '') =>
  `scenario: ${name}\nabout: A test.\n${more}steps:\n${steps.map((step) => `  - ${step}\n`).join('')}`;
const key = '{ step: key, call: make_key, session: k, expect: { reason_code: DKG_COMPLETED } }';
const ended = () =>
  until(async () => {
    const now = await read();
    return now?.state === 'running' ? undefined : now;
  }, 'the end of the scenario');

/** The states of a scenario, as a page hears of them, until one that has ended. */
async function heard(begun: () => Promise<unknown>): Promise<readonly SandboxScenario[]> {
  const scope = new AbortController();
  const headers = { authorization: `Bearer ${running.token}` };
  const url = `http://${running.service.httpAddress}/v1/sandbox/stream`;
  // A busy service may refuse it for a moment.
  const { body } = await until(async () => {
    const answer = await fetch(url, { headers, signal: scope.signal });
    return answer.ok ? answer : undefined;
  }, 'the stream');
  await begun();
  const states: SandboxScenario[] = [];
  let text = '';
  for await (const bytes of body!.pipeThrough(new TextDecoderStream())) {
    text += bytes;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      const { kind, scenario } = JSON.parse(data ?? '{}') as { kind?: string; scenario?: SandboxScenario };
      if (kind === 'batch' && scenario !== undefined) states.push(scenario);
    }
    if (states.some(({ state }) => state !== 'running')) break;
  }
  scope.abort();
  return states;
}

test('the example of the API is a scenario', () => {
  const { example } = scenarioRoutes({ control: undefined as never }).find(({ method }) => method === 'POST')!;
  expect(loadScenario((example as { readonly file: string }).file, { file: 'example.yaml' }).scenario).toBe('one-key');
});

test('a file runs, its progress is in the stream, and the sandbox is healed', async () => {
  expect(await read()).toBeNull();
  const lies = '{ step: lies, inject: { id: lies, fault: bad_partial, target: node/2 } }';
  const text = file('runs-here', [
    ...[key, lies, '{ step: open, call: initiate_signing, session: tx, key: k }'],
    '{ step: submit, call: submit_signature_share, session: tx, expect: { reason_code: SIGNATURE_COMPLETED } }',
  ]);
  const states = await heard(() => running.must(202, 'POST', path, { file: text }));
  expect(states.at(-1)).toMatchObject({ scenario: 'runs-here', state: 'passed', steps: 4, begun: 4, cause: '' });
  expect(states.at(-1)?.ended_at).not.toBeNull();
  const { faults } = await running.must(200, 'GET', '/v1/sandbox/faults');
  expect(faults).toMatchObject([{ id: 'lies', state: 'over' }]);
});

test('one that does not pass says why', async () => {
  const wrong = key.replace('DKG_COMPLETED', 'SESSION_NOT_FOUND');
  await running.must(202, 'POST', path, { file: file('fails', [wrong]) });
  const { state, cause } = await ended();
  expect([state, cause]).toEqual(['failed', expect.stringContaining('DKG_COMPLETED')]);
});

test('one runs at a time, and DELETE ends it', async () => {
  const never = '{ step: never, wait: { nodes_ready: 4 } }';
  await running.must(202, 'POST', path, { file: file('is-ended', [key, never]) });
  const refused = await running.call('POST', path, { file: file('another', [key]) });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([409, expect.stringContaining('runs already')]);
  await until(async () => (await read())?.step === 'never', 'the step that waits');
  expect(await running.must(200, 'DELETE', path)).toMatchObject({ scenario: 'is-ended', state: 'ended' });
  expect((await running.call('DELETE', path)).status).toBe(404);
  const next = host.start(file('next', [key]), false);
  await expect(host.end()).rejects.toMatchObject({ fault: { code: 'not_found' } });
  expect(await next).toMatchObject({ scenario: 'next', state: 'running' });
  expect((await ended()).state).toBe('passed');
});

test.each([
  ['nodes', file('needs', [key], 'cluster: { nodes: 7 }\n'), 422, 'it needs 7 nodes, and the cluster has 5'],
  ['the simulated world', file('needs', [key], 'worlds: [simulated]\n'), 422, 'it runs only in the simulated world'],
  ['a step that is none', file('needs', ['{ step: x, call: nothing }']), 400, 'steps'],
  ['no YAML', 'a: [', 400, 'file'],
])('refuses by name, before the first step: %s', async (_, text, status, words) => {
  const before = await read();
  const refused = await running.call('POST', path, { file: text });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([status, expect.stringContaining(words)]);
  expect(await read()).toEqual(before);
});

test('starts afresh only when asked', async () => {
  const { id } = await running.must(201, 'POST', '/v1/webhooks', { url: 'https://example.com/hook', events: ['*'] });
  await running.must(202, 'POST', path, { file: file('stays', [key]) });
  expect((await ended()).state).toBe('passed');
  expect((await running.call('GET', `/v1/webhooks/${id}`)).status).toBe(200);
  await running.must(202, 'POST', path, { file: file('afresh', [key]), reset: true });
  expect((await ended()).state).toBe('passed');
  expect((await running.call('GET', `/v1/webhooks/${id}`)).status).toBe(404);
});
