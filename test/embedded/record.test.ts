/** What is recorded of an embedded service replays in virtual time, with the same answers. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { sandboxSchemes } from '../../cli/cluster-files/sandbox.ts';
import { recordedScenario } from '../../embedded/recorded-scenario.ts';
import { ServiceRecorder } from '../../embedded/service-recorder.ts';
import { loadScenario } from '../../runner/scenario/load.ts';
import { runSimulated } from '../../runner/scenario/simulated-world.ts';
import { toYaml } from '../../runner/scenario/to-yaml.ts';
import { grpcApi } from '../support/client.ts';
import { signature, startService } from './support/service.ts';

const digest = createHash('sha256').update('record').digest();

it('writes a scenario of the signing calls and faults, over both doors, that passes when it is run', async () => {
  const recorder = new ServiceRecorder(() => performance.now());
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
  // Of the wallet API nothing is written yet.
  await must(200, 'GET', '/v1/wallets');
  client.close();
  await service.stop();

  const { recorded, left } = recorder;
  const of = { recorded, left, name: 'my-session', nodes: 5, partialTimeoutMs: 2_000, nodesWaitMs: 2_000 };
  const yaml = toYaml(recordedScenario({ ...of, readyMade: sandboxSchemes }));
  const scenario = loadScenario(yaml, { file: 'my-session.yaml' });
  const steps = Object.values(scenario.clients).flat();
  const called = steps.map((step) => ('call' in step ? step.call : Object.keys(step)[1]));
  expect(called.filter((name) => name !== 'wait')).toEqual([
    ...['make_key', 'make_key', 'inject', 'initiate_signing', 'submit_signature_share'],
    ...['initiate_signing', 'submit_signature_share', 'initiate_dkg', 'exchange_dkg_shares', 'initiate_signing'],
    ...['initiate_signing', 'inject', 'submit_signature_share', 'heal', 'advance_ms'],
  ]);
  const run = runSimulated(scenario);
  expect(run.verdict).toEqual({ kind: 'passed' });
  // A scenario of something else does not pass.
  const otherwise = yaml.replace('DUPLICATE_INTENT', 'SESSION_ACCEPTED');
  expect(runSimulated(loadScenario(otherwise, { file: 'my-session.yaml' })).verdict.kind).toBe('failed');
});
