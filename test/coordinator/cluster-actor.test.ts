/** The actor "cluster", message by message: which nodes a draw gets, what it asks of nodes, and whom it tells what. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ClusterConfig } from '../../coordinator/cluster/cluster.ts';
import { clusterBehaviour } from '../../coordinator/cluster/cluster.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  clusterAddress,
  type LocalMessage,
} from '../../coordinator/contract/messages.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';

const config: ClusterConfig = {
  nodesTotal: 5,
  quorum: 3,
  coordinatorBoot: 'here',
  cryptoBackend: 'real',
  nonceBatchFirst: 2,
  nodesWaitMs: 600,
};
/** Takes no nonces. */
const plain = Scheme.OWNER_ECDSA;
const dealt = Scheme.MOCK_ECDSA;

class Cluster {
  nowMs = 1_000_000;
  effects: readonly CoordinatorEffect[] = [];
  readonly #behaviour = clusterBehaviour(config);
  #state = this.#behaviour.start(undefined, this.#context).state;
  #nonces = 0;

  get #context() {
    return { self: clusterAddress, nowMs: this.nowMs, random: (length: number) => new Uint8Array(length) };
  }

  take(input: CoordinatorInput): void {
    const { state, effects } = this.#behaviour.receive(this.#state, input, this.#context);
    this.#state = state;
    this.effects = effects;
  }

  tell(message: LocalMessage, from = 'signing/acme/sig-1'): void {
    this.take({ kind: 'message', from, message, trace: noTrace });
  }

  up(...nodeIds: number[]): void {
    for (const nodeId of nodeIds) {
      this.tell({
        kind: 'peerUp',
        role: 'node',
        nodeId,
        boot: `b${nodeId}`,
        address: `node/${nodeId}`,
      } as LocalMessage);
    }
  }

  down(nodeId: number, boot = `b${nodeId}`): void {
    this.tell({ kind: 'peerDown', role: 'node', nodeId, boot, address: `node/${nodeId}` } as LocalMessage);
  }

  gateway(kind: 'peerUp' | 'peerDown', address: string): void {
    this.tell({ kind, role: 'gateway', address, nodeId: 0, boot: 'g' } as LocalMessage);
  }

  draw(over: Partial<Extract<LocalMessage, { kind: 'draw' }>> = {}, from?: string): void {
    const draw = { ticket: 1, scheme: plain, count: 2, candidates: [1, 2, 3], preferred: [], ...over };
    this.tell({ kind: 'draw', ...draw }, from);
  }

  /** As many nonces of mock ECDSA; `mockNonces` in their place. */
  deal(nodeId: number, count: number, over: object = {}, mockNonces?: readonly Uint8Array[]): void {
    const nonces = Array.from({ length: count }, (_, index) => {
      this.#nonces += 1;
      const mockNonce = mockNonces?.[index] ?? new Uint8Array(32).fill(1).fill(this.#nonces, 30);
      return { number: BigInt(this.#nonces), hiding: new Uint8Array(), binding: new Uint8Array(), mockNonce };
    });
    const value = { scheme: dealt, nodeBoot: `b${nodeId}`, coordinatorBoot: 'here', nonces, ...over };
    const message = { tenant: '', session: '', attempt: 0, body: { case: 'noncesDealt', value } };
    this.take({
      kind: 'message',
      from: `node/${nodeId}`,
      message: message as unknown as CoordinatorMessage,
      trace: noTrace,
    });
  }

  /** Receiver of each answered draw, and its signers. */
  get drawn(): string[] {
    return this.#sent.flatMap(({ to, message }) =>
      'kind' in message && message.kind === 'drawn'
        ? `${to}: ${message.nonces.map(({ nodeId }) => nodeId).join()}`
        : [],
    );
  }

  /** Node, and number of nonces of mock ECDSA requested. */
  get requested(): string[] {
    return this.#sent.flatMap(({ to, message }) => {
      if ('kind' in message || message.body.case !== 'dealNonces') return [];
      const { scheme, count } = message.body.value as { scheme: Scheme; count: number };
      return scheme === dealt ? `${to}: ${count}` : [];
    });
  }

  /** The number of each request for nonces: a node makes nonces once for each. */
  get requests(): bigint[] {
    return this.#sent.flatMap(({ message }) =>
      'kind' in message || message.body.case !== 'dealNonces'
        ? []
        : (message.body.value as { request: bigint }).request,
    );
  }

  get told(): object[] {
    return this.#sent.flatMap(({ to, message }): object[] => {
      if ('kind' in message)
        return message.kind === 'nodesChanged' ? [{ to, ready: message.ready, suspects: message.suspects }] : [];
      if (message.body.case !== 'clusterStatus') return [];
      const { nodesReady, storeReady } = message.body.value as { nodesReady: number[]; storeReady: boolean };
      return [{ to, nodesReady, storeReady }];
    });
  }

  get events(): string[] {
    return this.effects.flatMap((effect) =>
      effect.kind === 'emit' ? `${effect.event.level} ${effect.event.type}` : [],
    );
  }

  get timers(): string[] {
    return this.effects.flatMap((effect) =>
      effect.kind === 'startTimer' ? `${effect.name} in ${effect.afterMs}` : [],
    );
  }

  get #sent() {
    return this.effects.flatMap((effect) => (effect.kind === 'send' ? [effect] : []));
  }
}

let cluster: Cluster;
beforeEach(() => {
  cluster = new Cluster();
});

/** The signers of draws in the next five turns. */
function turns(over: Parameters<Cluster['draw']>[0] = {}): string[] {
  return Array.from({ length: 5 }, () => {
    cluster.nowMs += 20;
    cluster.draw(over);
    return cluster.drawn.join();
  });
}

describe('a draw', () => {
  test('gets signers in turn, ascending, so that each is used equally often', () => {
    cluster.up(1, 2, 3);
    const signers = turns().map((line) => line.split(': ')[1]);
    expect(signers.slice(0, 3).sort()).toEqual(['1,2', '1,3', '2,3']);
    expect(signers.slice(3)).toEqual(signers.slice(0, 2));
    // Draws of one turn share their signers.
    for (const afterMs of [0, 1, 18]) {
      cluster.nowMs += afterMs;
      cluster.draw();
      expect(cluster.drawn).toEqual([`signing/acme/sig-1: ${signers[4]}`]);
    }
  });

  test('gets the preferred signers first, and no more than it needs', () => {
    cluster.up(1, 2, 3);
    expect(new Set(turns({ preferred: [3] }).map((line) => line.includes('3')))).toEqual(new Set([true]));
    expect(new Set(turns({ preferred: [2, 3, 1] }))).toEqual(new Set(['signing/acme/sig-1: 2,3']));
  });

  test('waits until enough candidates are ready; the sessions that wait are served in order', () => {
    cluster.up(1, 4);
    cluster.draw();
    expect([cluster.drawn, cluster.timers]).toEqual([[], ['recheck in 300']]);
    cluster.draw({ ticket: 2 }, 'signing/acme/sig-2');
    // The timer runs.
    expect(cluster.timers).toEqual([]);
    cluster.up(2);
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.drawn).toEqual(['signing/acme/sig-1: 1,2', 'signing/acme/sig-2: 1,2']);
    expect(cluster.timers).toEqual([]);
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.effects).toEqual([]);
    // The next draw that waits starts the timer again.
    cluster.draw({ candidates: [4, 5] });
    expect(cluster.timers).toEqual(['recheck in 300']);
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.timers).toEqual(['recheck in 300']);
  });

  test('that is withdrawn gets nothing, and a later one of the same session replaces it', () => {
    cluster.up(1);
    cluster.draw();
    cluster.draw({ ticket: 2, count: 1 });
    expect(cluster.drawn).toEqual(['signing/acme/sig-1: 1']);
    cluster.draw();
    cluster.tell({ kind: 'withdraw' });
    cluster.up(2);
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.drawn).toEqual([]);
  });

  test('takes a suspect only where no quorum stands without it', () => {
    cluster.up(1, 2, 3);
    cluster.tell({ kind: 'nodeFault', nodeId: 2, reason: 'silent' });
    expect(cluster.effects).toEqual([
      {
        kind: 'emit',
        event: { type: 'node.suspected', level: 'warn', fields: { node: 2, reason: 'silent', for_ms: 10_000 } },
      },
    ]);
    expect(new Set(turns())).toEqual(new Set(['signing/acme/sig-1: 1,3']));
    expect(new Set(turns({ count: 3 }))).toEqual(new Set(['signing/acme/sig-1: 1,2,3']));
    expect(turns({ preferred: [2] }).every((line) => line.includes('2'))).toBe(true);
    cluster.tell({ kind: 'nodeFault', nodeId: 2, reason: 'silent' });
    expect(cluster.events).toEqual([]);
  });
});

describe('nonces', () => {
  test('are requested when a node connects, and again when half of them are drawn', () => {
    cluster.up(1);
    expect(cluster.requested).toEqual(['node/1: 4']);
    const before = cluster.requests;
    cluster.deal(1, 4);
    expect(cluster.requested).toEqual([]);
    const one = { scheme: dealt, count: 1, candidates: [1] };
    cluster.draw(one);
    expect([cluster.drawn, cluster.requested]).toEqual([['signing/acme/sig-1: 1'], []]);
    cluster.draw(one);
    expect(cluster.requested).toEqual(['node/1: 4']);
    const numbers = [...before, ...cluster.requests];
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test('that come answer the draws that wait for them', () => {
    cluster.up(1, 2);
    cluster.draw({ scheme: dealt, candidates: [1, 2] });
    cluster.deal(1, 4);
    expect(cluster.drawn).toEqual([]);
    cluster.deal(2, 4);
    expect(cluster.drawn).toEqual(['signing/acme/sig-1: 1,2']);
  });

  test('of another boot, of a stranger or of another coordinator are not read', () => {
    cluster.up(1);
    cluster.draw({ scheme: dealt, count: 1, candidates: [1] });
    cluster.deal(1, 4, { nodeBoot: 'earlier' });
    cluster.deal(1, 4, { coordinatorBoot: 'another' });
    cluster.deal(3, 4);
    expect(cluster.effects).toEqual([]);
    cluster.deal(1, 4);
    expect(cluster.drawn).toHaveLength(1);
  });

  test('beyond those that were requested are dropped', () => {
    cluster.up(1);
    cluster.deal(1, 9);
    const one = { scheme: dealt, count: 1, candidates: [1] };
    for (let count = 0; count < 4; count += 1) cluster.draw(one);
    expect(cluster.drawn).toHaveLength(1);
    cluster.draw(one);
    expect(cluster.drawn).toEqual([]);
  });

  test('that are malformed or not distinct make their node a suspect, and none is used', () => {
    const zero = new Uint8Array(32);
    const same = new Uint8Array(32).fill(9);
    for (const nonces of [[zero], [same, same], [new Uint8Array(31).fill(1)], [new Uint8Array(32).fill(255)]]) {
      const one = new Cluster();
      one.up(1);
      one.draw({ scheme: dealt, count: 1, candidates: [1] });
      one.deal(1, nonces.length, {}, nonces);
      expect(one.events).toEqual(['error node.nonces_malformed', 'warn node.suspected']);
      expect(one.drawn).toEqual([]);
    }
  });

  test('of a scheme that takes none are malformed', () => {
    cluster.up(1);
    cluster.deal(1, 1, { scheme: plain });
    expect(cluster.drawn).toEqual([]);
  });

  test('that a node has forgotten are dropped, and others requested; of an earlier boot it says nothing', () => {
    cluster.up(1);
    cluster.deal(1, 4);
    const forgotten = { kind: 'nonceForgotten', scheme: dealt, nodeId: 1, number: 4n } as const;
    cluster.tell({ ...forgotten, nodeBoot: 'earlier' });
    expect(cluster.effects).toEqual([]);
    cluster.tell({ ...forgotten, nodeBoot: 'b1' });
    expect(cluster.requested).toEqual(['node/1: 8']);
    cluster.draw({ scheme: dealt, count: 1, candidates: [1] });
    expect(cluster.drawn).toEqual([]);
  });

  test('of a node that reconnects are void', () => {
    cluster.up(1);
    cluster.deal(1, 4);
    cluster.up(1);
    cluster.draw({ scheme: dealt, count: 1, candidates: [1] });
    expect(cluster.drawn).toEqual([]);
    cluster.deal(1, 4);
    expect(cluster.drawn).toHaveLength(1);
    cluster.down(1);
    cluster.up(1);
    cluster.draw({ scheme: dealt, count: 1, candidates: [1] });
    expect(cluster.drawn).toEqual([]);
  });

  test('that a named node lacks are waited for, until the time of the recheck', () => {
    cluster.up(1, 2, 3);
    cluster.deal(1, 4);
    cluster.deal(2, 4);
    cluster.draw({ scheme: dealt, preferred: [3] });
    expect(cluster.drawn).toEqual([]);
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.drawn).toEqual(['signing/acme/sig-1: 1,2']);
    cluster.draw({ scheme: dealt, preferred: [3] });
    cluster.down(3);
    // A node that is away is not waited for.
    cluster.draw({ scheme: dealt, preferred: [3] });
    expect(cluster.drawn).toEqual(['signing/acme/sig-1: 1,2']);
  });

  test('in transit are waited for rather than a suspect taken, and are asked for again after a while', () => {
    cluster.up(1, 2, 3);
    cluster.deal(1, 4);
    cluster.deal(2, 4);
    cluster.tell({ kind: 'nodeFault', nodeId: 2, reason: 'slow' });
    cluster.draw({ scheme: dealt });
    expect([cluster.drawn, cluster.requested]).toEqual([[], []]);
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.drawn).toEqual(['signing/acme/sig-1: 1,2']);
    cluster.draw({ scheme: dealt, candidates: [1, 3] });
    cluster.take({ kind: 'timer', name: 'recheck' });
    expect(cluster.requested).toEqual(['node/3: 16']);
  });
});

describe('changes of the nodes are told to', () => {
  test('a watcher at once and at each change, until it leaves', () => {
    cluster.up(2);
    cluster.tell({ kind: 'watch' });
    expect(cluster.told).toEqual([{ to: 'signing/acme/sig-1', ready: [2], suspects: [] }]);
    cluster.up(1);
    expect(cluster.told).toEqual([{ to: 'signing/acme/sig-1', ready: [1, 2], suspects: [] }]);
    expect(cluster.events).toEqual(['info node.ready']);
    cluster.tell({ kind: 'nodeFault', nodeId: 2, reason: 'bad_partial' });
    cluster.down(1);
    expect(cluster.told).toEqual([{ to: 'signing/acme/sig-1', ready: [2], suspects: [2] }]);
    expect(cluster.events).toEqual(['warn node.away']);
    cluster.tell({ kind: 'unwatch' });
    cluster.up(1);
    expect(cluster.told).toEqual([]);
  });

  test('each gateway, also of the store, once for each change', () => {
    cluster.gateway('peerUp', 'gateway/b');
    expect(cluster.told).toEqual([{ to: 'gateway/b', nodesReady: [], storeReady: true }]);
    cluster.gateway('peerUp', 'gateway/a');
    cluster.up(1);
    expect(cluster.told.map((line) => (line as { to: string }).to)).toEqual(['gateway/a', 'gateway/b']);
    cluster.tell({ kind: 'storeStatus', ready: true });
    expect(cluster.effects).toEqual([]);
    cluster.tell({ kind: 'storeStatus', ready: false });
    expect(cluster.told).toEqual([
      { to: 'gateway/a', nodesReady: [1], storeReady: false },
      { to: 'gateway/b', nodesReady: [1], storeReady: false },
    ]);
    cluster.gateway('peerDown', 'gateway/a');
    expect(cluster.effects).toEqual([]);
    cluster.tell({ kind: 'storeStatus', ready: true });
    expect(cluster.told).toEqual([{ to: 'gateway/b', nodesReady: [1], storeReady: true }]);
  });

  test('the end of an older link of a node changes nothing', () => {
    cluster.up(1);
    cluster.down(1, 'earlier');
    expect(cluster.effects).toEqual([]);
    cluster.draw({ count: 1 });
    expect(cluster.drawn).toHaveLength(1);
    cluster.down(2);
    expect(cluster.effects).toEqual([]);
  });

  test('a new process of a node clears its silence, a new link of the same process does not', () => {
    cluster.up(1);
    cluster.tell({ kind: 'nodeFault', nodeId: 1, reason: 'silent' });
    cluster.tell({ kind: 'watch' });
    cluster.up(1);
    expect(cluster.told).toMatchObject([{ suspects: [1] }]);
    cluster.tell({ kind: 'peerUp', role: 'node', nodeId: 1, boot: 'later', address: 'node/1' } as LocalMessage);
    expect(cluster.told).toMatchObject([{ suspects: [] }]);
  });
});
