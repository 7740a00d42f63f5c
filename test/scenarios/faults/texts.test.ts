import type { MessageInitShape } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CallErrorCode,
  type CallReplySchema,
  type CallSchema,
} from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { PartialRefusalCode } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { decodeFrames, encodeFrame, type WireBodyInit } from '../../../proto/wire.ts';
import { describe as inWords, targetsOf } from '../../../scenarios/faults/describe.ts';
import { frameText } from '../../../scenarios/faults/frame-text.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { points } from '../../../scenarios/faults/vocabulary/trigger-points.ts';
import { begin, makeKey } from '../../coordinator/support/world.ts';
import { FaultFixture } from './support/fault-fixture.ts';
import { frameAt, samples } from './support/frames.ts';

describe('a fault in words', () => {
  test.each<[Fault, string]>([
    [samples.crash, 'node/2 crashes before its 3rd partial_reply; back after 100 ms'],
    [
      { fault: 'crash', target: 'node/*', lose_state: true, restart_after_ms: null },
      'every node crashes and loses its store; it stays down',
    ],
    [
      {
        fault: 'crash',
        target: 'coordinator',
        at: { point: 'call', phase: 'after', of: 'gateway', nth: 21 },
        count: 2,
      },
      'coordinator crashes after the 21st call of gateway, 2 times; back after 100 ms',
    ],
    [samples.answer_lost, 'requests of POST /v1/wallets lose their answers'],
    [
      { fault: 'answer_status', status: 429, count: 3, rpc: 'InitiateDkg' },
      'requests of InitiateDkg are refused with 429, 3 times',
    ],
    [samples.answer_slow, 'requests to the gateway are answered 100 ms later'],
    [
      { fault: 'pause', target: ['node/1', 'node/2'], for_ms: 50, at: { after_ms: 9 } },
      'node/1 and node/2 pauses for 50 ms after 9 ms',
    ],
    [
      { fault: 'drop', target: 'node/1', direction: 'in', probability: 0.2, for_ms: 9 },
      'frames to node/1 are lost, with probability 0.2; for 9 ms',
    ],
    [
      { fault: 'drop', target: 'node/1', at: { point: 'dkg_open', nth: 12 } },
      'dkg_open frames of node/1 are lost the 12th alone',
    ],
    [
      { fault: 'redis_gone', for_ms: 10, at: { point: 'dkg_open' } },
      'Redis is unreachable for 10 ms before any dkg_open',
    ],
    [
      { fault: 'delay', target: 'gateway', max_ms: 9, at: { step: 'sign' } },
      'frames to and from gateway arrive 0 to 9 ms late from step sign on',
    ],
  ])('%j', (fault, words) => {
    expect(inWords(fault)).toBe(words);
  });

  test('is one line for every kind', () => {
    const lines = Object.values(samples).map(inWords);
    for (const line of lines) expect(line).toMatch(/^[^\n]{10,120}$/);
    expect(new Set(lines).size).toBe(lines.length);
  });

  test('names its targets, every node once the cluster is known', () => {
    expect(targetsOf(samples.partition)).toEqual(['node/*']);
    expect(targetsOf(samples.partition, 3)).toEqual(['node/1', 'node/2', 'node/3']);
    expect(targetsOf(samples.drop)).toEqual(['node/1', 'gateway']);
    expect(
      [samples.redis_gone, samples.poison_job, samples.receiver_reset, samples.force_receipt].map((one) =>
        targetsOf(one),
      ),
    ).toEqual([['redis'], ['worker'], ['receiver'], ['gateway']]);
  });
});

type CallInit = NonNullable<MessageInitShape<typeof CallSchema>['request']>;
type OutcomeInit = NonNullable<MessageInitShape<typeof CallReplySchema>['outcome']>;

describe('a frame in words', () => {
  const said = (body: WireBodyInit) => {
    const frame = frameAt('dkg_open', 'node/1').envelope;
    return frameText({ ...frame, message: { ...frame.message, body } });
  };

  test('says what it asks or says', () => {
    expect(frameText(frameAt('partial_request', 'node/2').envelope)).toBe(
      'sign attempt 1 with nonce 12, key k, mock ecdsa',
    );
    expect(frameText(frameAt('partial_reply', 'node/2').envelope)).toBe('partial of node 2');
    expect(frameText(frameAt('dkg_open', 'node/2').envelope)).toBe('open attempt 1: 2 of 3 on secp256k1');
    expect(frameText(frameAt('dkg_verified', 'node/2').envelope)).toBe('complains about dealer 1 SHARE_INVALID');
    expect(frameText(frameAt('dkg_refused', 'node/2').envelope)).toBe('refused NOT_OPEN');
    expect(frameText(frameAt('cluster_status', 'gateway').envelope)).toBe('3 of 5 nodes ready');
    const refusal = { code: PartialRefusalCode.NONCE_UNKNOWN, message: 'SECRET' };
    expect(said({ case: 'partialReply', value: { nodeId: 2, outcome: { case: 'refusal', value: refusal } } })).toBe(
      'refused NONCE_UNKNOWN',
    );
  });

  test('says which call, of what, and how it was answered', () => {
    const call = (request: CallInit) => said({ case: 'call', value: { callId: 1n, request } });
    const given = Buffer.from('SECRET');
    const initiated = {
      transactionIntentId: 't1',
      walletId: 'k',
      humanApprovalWitness: given,
      policyApprovalToken: given,
    };
    expect(call({ case: 'initiateSigning', value: initiated })).toBe('call InitiateSigning intent t1, key k');
    const share = { signingSessionId: 'sig_1', nodeId: 2, partialSignature: given };
    expect(call({ case: 'submitSignatureShare', value: share })).toBe(
      'call SubmitSignatureShare sig_1 node 2, a partial given',
    );
    const resume = { sessionId: 'sig_1', resumeToken: 'SECRET' };
    expect(call({ case: 'resumeSession', value: resume })).toBe('call ResumeSession sig_1');
    const shares = { sessionId: 'k', senderNodeId: 1, recipientNodeId: 2, encryptedShare: given };
    expect(call({ case: 'exchangeDkgShares', value: shares })).toBe('call ExchangeDkgShares k 1>2, a share given');
    expect(call({ case: 'previewPartial', value: { sessionId: 'sig_1', nodeId: 2 } })).toBe(
      'call PreviewPartial sig_1 node 2',
    );
    expect(call({ case: 'closeKey', value: { keyId: 'wal_1' } })).toBe('call CloseKey wal_1');
    expect(said({ case: 'call', value: {} })).toBe('call of an unknown method');

    const reply = (outcome: OutcomeInit) => said({ case: 'callReply', value: { outcome } });
    const receipt = { reasonCode: 'SESSION_ACCEPTED', message: 'SECRET' };
    const checkpoint = { checkpointId: 'ckp_1', resumeToken: 'SECRET' };
    expect(reply({ case: 'initiateSigning', value: { receipt, checkpoint } })).toBe('answer SESSION_ACCEPTED');
    const signed = {
      fullSignature: given,
      recoveryId: Uint8Array.of(1),
      receipt: { reasonCode: 'SIGNATURE_COMPLETED' },
      checkpoint,
    };
    expect(reply({ case: 'submitSignatureShare', value: signed })).toBe('answer SIGNATURE_COMPLETED');
    expect(reply({ case: 'resumeSession', value: { receipt: { reasonCode: 'SECRET' } } })).toBe('answer');
    expect(reply({ case: 'closeKey', value: { sessions: 1 } })).toBe('answer');
    const error = { code: CallErrorCode.UNAVAILABLE, message: 'SECRET' };
    expect(said({ case: 'callReply', value: { outcome: { case: 'error', value: error } } })).toBe(
      'no answer: UNAVAILABLE',
    );
  });

  test.each(points)('of %s is one line without secrets, as sent and as received', (point) => {
    const { envelope } = frameAt(
      point,
      ['call', 'call_reply', 'cluster_status'].includes(point) ? 'gateway' : 'node/2',
    );
    const text = frameText(envelope);
    expect(text).toMatch(/^[\x20-\x7e]{4,160}$/);
    expect(text).not.toContain('SECRET');
    expect(frameText(decodeFrames(encodeFrame(envelope))[0]!)).toBe(text);
  });

  test('never throws on what a call names, nor breaks its line', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (name, other) => {
        const requests: CallInit[] = [
          { case: 'sign', value: { walletId: `${name}\n`, transactionIntentId: other } },
          { case: 'makeKey', value: { sessionId: `${name}\r` } },
        ];
        for (const request of requests) {
          expect(said({ case: 'call', value: { request } })).toMatch(/^[\x20-\x7e]{1,160}$/);
        }
        const receipt = { reasonCode: name, message: other };
        expect(said({ case: 'callReply', value: { outcome: { case: 'sign', value: { receipt } } } })).toMatch(
          /^answer/,
        );
      }),
      { numRuns: 100 },
    );
  });

  test('holds no bytes of any frame of a DKG and a signature', () => {
    const fixture = new FaultFixture('texts');
    makeKey(fixture.cluster, 'k');
    const { signingSessionId } = begin(fixture.cluster, 't');
    fixture.cluster.submitSignatureShare({ signingSessionId }).result();
    expect(fixture.frames.length).toBeGreaterThan(30);
    for (const { frame } of fixture.frames) {
      // No long hex, no base64, no run of digits: only names, codes and small numbers.
      const words = frameText(frame.envelope)
        .replace(signingSessionId, '')
        .replace(/ed25519|secp256k1/, '');
      expect(words).not.toMatch(/[0-9a-f]{16}|[A-Za-z0-9+/]{40}|\d{4}/);
    }
  });
});
