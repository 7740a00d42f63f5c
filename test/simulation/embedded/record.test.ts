/** What is recorded of an embedded service replays in virtual time, with the same answers and the same amounts. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { sandboxSchemes } from '../../../cli/cluster-files/sandbox.ts';
import { WebhookReceiver } from '../../../clients/testing/webhook-receiver.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { recordedScenario } from '../../../simulation/embedded/recorded-scenario.ts';
import { startRecording } from '../../../simulation/embedded/recording.ts';
import type { ServiceRecorder } from '../../../simulation/embedded/service-recorder.ts';
import { runInCustodyWorld } from '../../../simulation/service/scenario/run.ts';
import { grpcApi } from '../../support/client.ts';
import { until } from '../../support/until.ts';
import { signature, startService } from './support/service.ts';

const digest = createHash('sha256').update('record').digest();

function written(recorder: ServiceRecorder, { clusters = 1, nodes = 5 } = {}): string {
  const { recorded, left, unsaid, receivers, finals, tokens } = recorder;
  const seen = { recorded, left, unsaid, receivers, finals, tokens };
  const of = {
    name: 'my-session',
    clusters,
    nodes,
    partialTimeoutMs: 2_000,
    nodesWaitMs: 2_000,
    readyMade: sandboxSchemes,
  };
  return recordedScenario({ ...seen, ...of }) ?? '';
}

const load = (yaml: string) => loadScenario(yaml, { file: 'my-session.yaml' });

it('writes a scenario of the signing calls and faults, over HTTP and gRPC, that passes when it is run', async () => {
  const recorder = startRecording(() => performance.now());
  const running = await startService({ recorder });
  const { must, service, token } = running;
  await must(201, 'POST', '/v1/sandbox/faults', { id: 'liar', fault: 'bad_partial', target: 'node/2', count: 1 });
  await signature(running, 'sandbox-secp256k1', digest, 'with-a-liar');
  await signature(running, 'sandbox-bip340', digest, 'schnorr');
  const client = grpcApi(service.grpcAddress, token);
  await client.initiateDkg({ sessionId: 'my-key', threshold: 2, totalNodes: 3 });
  await client.exchangeDkgShares({ sessionId: 'my-key' });
  const asked = { transactionIntentId: 'twice', walletId: 'my-key', messageHash: digest };
  const { signingSessionId } = await client.initiateSigning(asked);
  // The same intent again is refused.
  await client.initiateSigning(asked);
  await must(200, 'POST', '/v1/sandbox/nodes/1/crash', { restart_after_ms: null });
  const { isComplete } = await client.submitSignatureShare({ signingSessionId });
  expect(isComplete).toBe(true);
  await must(200, 'POST', '/v1/sandbox/nodes/1/restart');
  await must(200, 'POST', '/v1/sandbox/faults/reset');
  await must(200, 'POST', '/v1/sandbox/clock', { advance_s: 60 });
  client.close();
  await recorder.finish();
  await service.stop();

  const yaml = written(recorder);
  const scenario = load(yaml);
  const steps = Object.values(scenario.clients).flat();
  const called = steps.map((step) => ('call' in step ? step.call : Object.keys(step)[1]));
  expect(called.filter((name) => name !== 'wait')).toEqual([
    ...['make_key', 'make_key', 'inject', 'initiate_signing', 'submit_signature_share'],
    ...['initiate_signing', 'submit_signature_share', 'initiate_dkg', 'exchange_dkg_shares', 'initiate_signing'],
    ...['initiate_signing', 'inject', 'submit_signature_share', 'heal', 'advance_ms'],
  ]);
  expect(runSimulated(scenario).verdict).toEqual({ kind: 'passed' });
  // A scenario of something else does not pass.
  const otherwise = yaml.replace('DUPLICATE_INTENT', 'SESSION_ACCEPTED');
  expect(runSimulated(load(otherwise)).verdict.kind).toBe('failed');
});

it('writes a scenario of a session of the wallet API, with what went wrong, that comes to the same states and amounts', async () => {
  const recorder = startRecording(() => performance.now());
  const [running, receiver] = await Promise.all([startService({ recorder }), WebhookReceiver.start()]);
  const { must, call, service } = running;
  const post = (status: number, path: string, body?: object) => must(status, 'POST', path, body);
  receiver.answer('', [500, 204]);
  const receiverUrl = receiver.url;
  await post(201, '/v1/webhooks', { url: receiverUrl, events: ['transaction_intent.*'] });
  const credentials = { api_key: 'key-of-mine-1234', private_key: 'a very private key' };
  const custodian = { provider: 'fireblocks', name: 'custodian', credentials };
  const { id: there } = await post(201, '/v1/provider-connections', custodian);
  const { id: here } = await post(201, '/v1/provider-connections', {
    provider: 'self_hosted',
    name: 'cluster',
    credentials: {},
  });
  const rules = [
    { id: 'small', effect: 'allow', when: 'tx.amount <= 1000000000000000000' },
    { id: 'large', effect: 'require_approval', when: 'tx.amount > 1000000000000000000', approvals: { quorum: 1 } },
  ];
  await post(201, '/v1/policies', { name: 'spending', rules });
  const network = 'eip155:11155111';
  const made = { provider_connection_id: here, network, policy: 'spending' };
  // At the same time.
  const [treasury, savings] = await Promise.all([
    post(201, '/v1/wallets', { ...made, name: 'treasury' }),
    post(201, '/v1/wallets', { network, provider_connection_id: there, name: 'savings' }),
  ]);
  const to = { address: savings.addresses[0].address };
  const intents = `/v1/wallets/${treasury.id}/transaction-intents`;
  const rest = async (id: string, status: string) =>
    until(async () => {
      const found = await must(200, 'GET', `${intents}/${id}`);
      return found.status === status;
    }, status);
  // The first answer is lost after its effect; the client repeats the request, with its key.
  await post(201, '/v1/sandbox/faults', {
    id: 'lost',
    fault: 'answer_lost',
    route: 'POST /v1/wallets/:id/transaction-intents',
    count: 1,
  });
  const small = { asset: 'ETH', amount: '0.25', destination: to, idempotency_key: 'small-1' };
  await expect(call('POST', intents, small)).rejects.toThrow();
  const paid = await post(201, intents, small);
  await rest(paid.id, 'completed');
  const large = await post(201, intents, { asset: 'ETH', amount: '1.5', destination: to });
  await rest(large.id, 'pending_approval');
  const { approverToken } = running;
  expect((await call('POST', `${intents}/${large.id}/approve`, {}, approverToken)).status).toBe(200);
  await rest(large.id, 'completed');
  // Of a signature the first answer is lost, and the second call is refused.
  await post(201, '/v1/sandbox/faults', { fault: 'answer_lost', route: 'POST /v1/signing/share', count: 1 });
  await expect(signature(running, 'sandbox-bip340', digest, 'signed')).rejects.toThrow();
  await post(201, '/v1/sandbox/faults', {
    fault: 'answer_status',
    route: 'POST /v1/signing/initiate',
    status: 503,
    count: 1,
  });
  await expect(signature(running, 'sandbox-bip340', digest, 'signed')).rejects.toThrow('503');
  await post(400, intents, { asset: 'ETH', amount: 'much', destination: to });
  await must(404, 'GET', `${intents}/txi_00000000-0000-7000-8000-000000000000`);
  expect((await call('GET', '/v1/wallets', undefined, 'svc_sk_test_unknown')).status).toBe(401);
  await must(200, 'GET', '/v1/health');
  await post(200, '/v1/sandbox/clock', { advance_s: 60 });
  await until(
    () => receiver.acknowledged().filter((type) => type === 'transaction_intent.completed').length === 2,
    'told',
  );
  const balance = (await must(200, 'GET', `/v1/wallets/${treasury.id}`)).assets[0].balance;
  await recorder.finish();
  await service.stop();
  await receiver.stop();

  const yaml = written(recorder);
  for (const secret of [...Object.values(credentials), running.token, approverToken, receiverUrl, 'whsec_'])
    expect(yaml).not.toContain(secret);
  expect(yaml).toContain(
    '# Not in it, because no step says it:\n#   GET /v1/wallets (401)\n#   GET /v1/health (200)\n',
  );
  expect(yaml).toContain(`assets.0.balance: "${balance}"`);
  const run = await runInCustodyWorld(load(yaml));
  expect(run.verdict).toEqual({ kind: 'passed' });
  const otherwise = yaml.replace(`assets.0.balance: "${balance}"`, 'assets.0.balance: "1"');
  expect((await runInCustodyWorld(load(otherwise))).verdict.kind).toBe('stuck');
});

it('writes a scenario of two clusters: the same keys are in the same clusters, and its faults hit the same one', async () => {
  let isDown = false;
  let lateMs = 0;
  // While the coordinator is down calls take longer than in the replay, as on a busy machine.
  const recorder = startRecording(() => {
    if (isDown) lateMs += 500;
    return performance.now() + lateMs;
  });
  const running = await startService({ recorder, clusters: 2, nodes: 3, threshold: 2 });
  const { must, service } = running;
  const wallet = async (id: string) => {
    await must(200, 'POST', '/v1/dkg/initiate', { session_id: id, threshold: 2, total_nodes: 3 });
    await must(200, 'POST', '/v1/dkg/shares', { session_id: id });
  };
  const crash = (process: string, body?: object) => must(200, 'POST', `/v1/sandbox/nodes/${process}/crash`, body);
  for (const key of ['first', 'second']) await wallet(key);
  await crash('cluster-2-coordinator', { restart_after_ms: null });
  isDown = true;
  // With a ready-made key: it is in cluster 1, and does not count when keys are spread.
  expect((await signature(running, 'sandbox-secp256k1', digest, 'ready')).is_complete).toBe(true);
  expect((await signature(running, 'first', digest, 'of-first')).is_complete).toBe(true);
  const begun = { transaction_intent_id: 'of-second', wallet_id: 'second', message_hash: digest.toString('base64') };
  const gone = await must(200, 'POST', '/v1/signing/initiate', begun);
  expect(gone.receipt.reason_code).toBe('QUORUM_UNAVAILABLE');
  isDown = false;
  await must(200, 'POST', '/v1/sandbox/nodes/cluster-2-coordinator/restart');
  await until(async () => (await must(200, 'GET', '/v1/health')).status === 'ok', 'cluster 2 is back');
  await must(201, 'POST', '/v1/sandbox/faults', { fault: 'bad_partial', target: 'cluster/2/node/3' });
  expect((await signature(running, 'second', digest, 'again')).receipt).toBeDefined();
  await recorder.finish();
  await service.stop();

  const yaml = written(recorder, { clusters: 2, nodes: 3 });
  const scenario = load(yaml);
  expect(scenario.cluster).toMatchObject({ clusters: 2, nodes: 3, ready_made: ['sandbox-secp256k1'] });
  expect(scenario.worlds).toEqual(['simulated']);
  expect(runSimulated(scenario).verdict).toEqual({ kind: 'passed' });
  // Without the list the ready-made key takes the place of the first one: other keys are in cluster 2.
  const spread = yaml.replace('ready_made: [ sandbox-secp256k1 ]', 'gateways: 1');
  expect(spread).not.toBe(yaml);
  expect((await runInCustodyWorld(load(spread))).verdict.kind).toBe('failed');
  // The gateways of the whole product follow the list too.
  const whole = yaml.replace('ready_made:', 'gateways: 1, ready_made:');
  expect((await runInCustodyWorld(load(whole))).verdict).toEqual({ kind: 'passed' });
});
