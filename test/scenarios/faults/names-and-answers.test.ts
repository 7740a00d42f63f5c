/** The names of a fault's targets, also with several clusters, and the answers of API faults: exact values. */
import { describe, expect, test } from 'vitest';
import { errorKinds } from '../../../gateway/api/errors/kinds.ts';
import { grpcRefusalOf, isFaultyPath, refusalOf } from '../../../scenarios/faults/api-fault-answers.ts';
import {
  asSeen,
  isNode,
  ofOneCluster,
  processIn,
  processName,
  splitName,
} from '../../../scenarios/faults/cluster-names.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import {
  isGateway,
  isWorker,
  nodeIdOf,
  passesBy,
  peersOf,
  processesOf,
  senderOf,
  targetsOf,
} from '../../../scenarios/faults/vocabulary/targets.ts';
import { frameAt } from './support/frames.ts';

const fault = (value: object) => value as Fault;

test.each([
  [['2', 'node-2', 'node/2', 'cluster/1/node/2', 'cluster-1-node-2', 'cluster-1-2'], 'node/2'],
  [['cluster-2-node-1', 'cluster/2/node/1', 'cluster-2-1', 'cluster/2/1'], 'cluster/2/node/1'],
  [['node-*', 'node/*'], 'node/*'],
  [['gateway-2', 'gateway/2'], 'gateway/2'],
  [['coordinator', 'cluster-1-coordinator'], 'coordinator'],
])('%j are one process: %s', (written, name) => {
  expect(written.map(processName)).toEqual(written.map(() => name));
});

describe('targets', () => {
  test.each<[object, readonly string[]]>([
    [{ fault: 'crash', target: 'node/2' }, ['node/2']],
    [{ fault: 'crash', target: 'gateway/1' }, ['gateway']],
    [{ fault: 'crash', target: ['node/2', 'worker/1', 'node/2', 'gateway/2'] }, ['node/2', 'worker', 'gateway/2']],
    [{ fault: 'redis_gone' }, ['redis']],
    [{ fault: 'worker_stalled' }, ['worker']],
    [{ fault: 'double_delivery' }, ['worker']],
    [{ fault: 'poison_job' }, ['worker']],
    [{ fault: 'receiver_status', status: 500 }, ['receiver']],
    [{ fault: 'receiver_slow', by_ms: 1 }, ['receiver']],
    [{ fault: 'receiver_reset' }, ['receiver']],
    [{ fault: 'vendor_fails' }, ['vendor']],
    [{ fault: 'provider_fails', by: 'late' }, ['provider']],
    [{ fault: 'force_receipt' }, ['gateway']],
    [{ fault: 'answer_lost' }, ['gateway']],
    [{ fault: 'answer_slow', by_ms: 1 }, ['gateway']],
    [{ fault: 'answer_status', status: 503 }, ['gateway']],
    [{ fault: 'answer_cut' }, ['gateway']],
  ])('of %j are %j', (value, expected) => {
    expect(targetsOf(fault(value))).toEqual(expected);
  });

  test('node/* is the node of the frame, and all nodes where a frame has none', () => {
    expect(processesOf(['node/*', 'coordinator'], 3)).toEqual(['node/1', 'node/2', 'node/3', 'coordinator']);
    expect(processesOf(['node/2', 'node/*'], 3)).toEqual(['node/2', 'node/1', 'node/3']);
    expect(processesOf(['node/*'], 3, frameAt('partial_reply', 'node/2'))).toEqual(['node/2']);
    expect(processesOf(['node/*'], 2, frameAt('call', 'gateway'))).toEqual(['node/1', 'node/2']);
  });

  test('the coordinator’s links are those of every node and gateway', () => {
    expect(peersOf(['coordinator'], { nodesTotal: 2 })).toEqual(['node/1', 'node/2', 'gateway']);
    const peers = peersOf(['node/2', 'coordinator'], { nodesTotal: 2, gateways: 3 });
    expect(peers).toEqual(['node/2', 'node/1', 'gateway', 'gateway/2', 'gateway/3']);
    expect(peersOf(['gateway/2'], { nodesTotal: 2 })).toEqual(['gateway/2']);
  });

  test.each<[string, string, 'in' | 'out', readonly string[]]>([
    ['node/2', 'node/2', 'out', ['both', 'out']],
    ['node/2', 'node/2', 'in', ['both', 'in']],
    ['node/2', 'node/20', 'in', []],
    ['node/*', 'node/20', 'in', ['both', 'in']],
    ['node/*', 'gateway', 'in', []],
    ['gateway', 'gateway/2', 'out', []],
    ['coordinator', 'node/2', 'out', ['both', 'in']],
    ['coordinator', 'gateway', 'in', ['both', 'out']],
  ])('%s: a frame of %s, %s, passes as %j', (name, peer, direction, expected) => {
    const wanted = (['both', 'in', 'out'] as const).filter((each) => passesBy(name, peer, direction, each));
    expect(wanted).toEqual(expected);
    expect(senderOf({ peer, direction })).toBe(direction === 'out' ? peer : 'coordinator');
  });

  test('a name says what it is', () => {
    const names = [
      'gateway',
      'gateway/2',
      'gateway/10',
      'gateways',
      'worker',
      'worker/9',
      'worker/0',
      'node/3',
      'node/*',
    ];
    expect(names.filter(isGateway)).toEqual(['gateway', 'gateway/2']);
    expect(names.filter(isWorker)).toEqual(['worker', 'worker/9']);
    expect(['node/3', 'node/*', 'node/x', 'gateway', 'cluster/2/node/3'].map(nodeIdOf)).toEqual([3, 0, 0, 0, 0]);
  });
});

describe('names with several clusters', () => {
  test('those of cluster 1 and of shared processes have no prefix', () => {
    expect([processIn(1, 'node/2'), processIn(2, 'node/2'), processIn(30, 'coordinator')]).toEqual([
      ...['node/2', 'cluster/2/node/2', 'cluster/30/coordinator'],
    ]);
    for (const name of ['gateway', 'gateway/2', 'worker', 'redis', 'receiver']) expect(processIn(2, name)).toBe(name);
  });

  test.each([
    ['cluster/2/node/3', 2, 'node/3'],
    ['cluster/1/node/3', 1, 'node/3'],
    ['cluster/100/coordinator', 100, 'coordinator'],
    ['node/3', 1, 'node/3'],
    ['cluster/0/node/3', 1, 'cluster/0/node/3'],
    ['cluster/1000/node/3', 1, 'cluster/1000/node/3'],
    ['cluster/2/', 1, 'cluster/2/'],
  ])('%s is of cluster %i: %s', (full, cluster, name) => {
    expect(splitName(full)).toEqual({ cluster, name });
    expect(isNode(full)).toBe(name.startsWith('node/'));
  });

  test('a fault is of the one cluster of all its names, and is shown with them again', () => {
    const given = {
      ...{ fault: 'bad_partial', target: ['cluster/2/node/1', 'cluster/2/node/3'] },
      at: { point: 'partial_reply', of: 'cluster/2/node/1' },
    };
    const own = { fault: 'bad_partial', target: ['node/1', 'node/3'] };
    const at = { point: 'partial_reply', of: 'node/1' };
    expect(ofOneCluster(fault(given), 2)).toEqual({ cluster: 2, fault: { ...own, at } });
    expect(asSeen(2, fault({ ...own, at }))).toEqual(given);
    expect(asSeen(1, fault(own))).toEqual(own);
    expect(ofOneCluster(fault({ fault: 'redis_gone' }), 2)).toEqual({ cluster: 1, fault: { fault: 'redis_gone' } });
    expect(ofOneCluster(fault({ fault: 'drop', target: 'node/1', at: { nth: 2 } }), 1).fault.at).toEqual({ nth: 2 });
  });

  test.each([
    [['node/1', 'cluster/2/node/1'], 2, 'arm one fault for each cluster'],
    ['cluster/3/node/1', 2, 'there is no cluster 3: there are clusters 1 to 2'],
    ['cluster/2/node/1', 1, 'there is no cluster 2: there is one cluster'],
  ])('%j with %i clusters is refused', (target, clusters, text) => {
    expect(() => ofOneCluster(fault({ fault: 'drop', target }), clusters)).toThrow(text);
  });
});

describe('answers of API faults', () => {
  test('health and the sandbox API pass, whatever is armed', () => {
    const passing = ['/v1/health', '/v1/sandbox/faults', '*', 'v1/wallets', ''];
    const faulty = ['/v1/wallets', '/v1/health/x', '/v1/healthy', '/v1/sandbox', '/v1/sandboxes/1', '/'];
    expect([...passing, ...faulty].filter(isFaultyPath)).toEqual(faulty);
  });

  test.each([
    [400, 'invalid_request', 3],
    [401, 'authentication_failed', 16],
    [403, 'insufficient_scope', 7],
    [404, 'not_found', 5],
    [405, 'invalid_request', 12],
    [408, 'invalid_request', 4],
    [409, 'conflict', 10],
    [413, 'invalid_request', 8],
    [415, 'invalid_request', 3],
    [418, 'invalid_request', 2],
    [422, 'provider_rejected', 9],
    [429, 'rate_limited', 8],
    [431, 'invalid_request', 8],
    [500, 'internal_error', 13],
    [501, 'internal_error', 12],
    [505, 'internal_error', 2],
    [502, 'provider_unavailable', 14],
    [503, 'provider_unavailable', 14],
    [504, 'provider_unavailable', 4],
  ])('a refusal with %i is %s, over gRPC %i', (status, code, grpc) => {
    const verdict = { fate: 'refused', status, delayMs: 0, faults: [] } as const;
    const { body, headers, ...rest } = refusalOf(verdict, 'req_1');
    expect(rest).toEqual({ status });
    const message = 'refused by a fault of the door';
    expect(JSON.parse(body)).toEqual({ error: { code, message, request_id: 'req_1' } });
    const length = String(Buffer.byteLength(body));
    const said = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': length,
      'x-request-id': 'req_1',
    };
    // As the service's own.
    const asService = status === 429 || status === 503 ? { 'retry-after': '1' } : {};
    expect(headers).toEqual({ ...said, ...asService });
    expect(refusalOf({ ...verdict, retryAfterS: 0 }, 'req_1').headers).toEqual({ ...said, 'retry-after': '0' });
    expect(grpcRefusalOf(verdict)).toEqual({ code: grpc, details: message });
  });

  test('every status of the service has its code and its gRPC status', () => {
    // A 409 of a fault is the common one, which is ABORTED.
    const { keyReused: _, tampered: __, tenantFrozen: ___, ...kinds } = errorKinds;
    for (const { http: status, code, grpc } of Object.values(kinds)) {
      const verdict = { fate: 'refused', status, delayMs: 0, faults: [] } as const;
      expect(grpcRefusalOf(verdict).code, String(status)).toBe(grpc);
      expect(JSON.parse(refusalOf(verdict, 'r').body).error.code, String(status)).toBe(code);
    }
  });

  test('a refusal without a status is 503', () => {
    const verdict = { fate: 'refused', delayMs: 0, faults: [] } as const;
    expect([refusalOf(verdict, 'r').status, grpcRefusalOf(verdict).code]).toEqual([503, 14]);
  });
});
