/** The actors that end a key, and its clients' sessions, message by message. */
import { describe, expect, test } from 'vitest';
import type {
  CloseCall,
  CoordinatorEffect,
  CoordinatorInput,
  CoordinatorMessage,
  LocalMessage,
} from '../../coordinator/contract/messages.ts';
import { keyClosingBehaviour } from '../../coordinator/key-closing.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { CallErrorCode, type CallReply } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';

const nodes = [1, 2, 3];

class Closing {
  effects: readonly CoordinatorEffect[] = [];
  readonly #self: string;
  readonly #behaviour;
  #state;
  #calls = 0n;

  constructor(prefix: 'closing' | 'revoking' = 'closing') {
    this.#self = `${prefix}/acme/wal_1`;
    this.#behaviour = keyClosingBehaviour(prefix, nodes.length);
    this.#state = this.#behaviour.start(undefined, this.#context).state;
  }

  get #context() {
    return { self: this.#self, nowMs: 1_000_000, random: (length: number) => new Uint8Array(length) };
  }

  take(input: CoordinatorInput): this {
    const { state, effects } = this.#behaviour.receive(this.#state, input, this.#context);
    this.#state = state;
    this.effects = effects;
    return this;
  }

  tell(message: LocalMessage, from = 'coordinator'): this {
    return this.take({ kind: 'message', from, message, trace: noTrace });
  }

  call(): this {
    this.#calls += 1n;
    const call = { callId: this.#calls, gateway: 'gateway/a', tenant: 'acme', asked: 'closeKey', correlationId: '' };
    return this.tell({
      kind: 'closeCall',
      call: { ...call, deletionMacs: new Uint8Array(48) } as unknown as CloseCall,
    });
  }

  /** A search for open sessions has these results. */
  found(...sessionIds: string[]): this {
    const record = { kind: 'openSessions', sessionIds } as const;
    return this.take({ kind: 'loaded', key: '', record });
  }

  /** A call that has found these sessions. */
  begun(...sessionIds: string[]): this {
    return this.call()
      .tell({ kind: 'continue' })
      .found(...sessionIds);
  }

  ended(sessionId: string): this {
    return this.tell({ kind: 'ended', sessionId }, `signing/acme/${sessionId}`);
  }

  deleted(nodeId: number): this {
    const body = { case: 'keyDeleted', value: { keySession: 'wal_1' } };
    const message = { tenant: 'acme', session: '', attempt: 0, body } as unknown as CoordinatorMessage;
    return this.take({ kind: 'message', from: `node/${nodeId}`, message, trace: noTrace });
  }

  waited(): this {
    return this.take({ kind: 'timer', name: 'patience' });
  }

  /** The nodes that are asked to delete their share, and the sessions that are told to end. */
  get told(): readonly (number | string)[] {
    return this.effects.flatMap((effect): readonly (number | string)[] => {
      if (effect.kind !== 'send') return [];
      const { to, message } = effect;
      if ('kind' in message) return message.kind === 'revoke' ? [to.split('/')[2]!] : [];
      return message.body.case === 'deleteKey' ? [Number(to.split('/')[1])] : [];
    });
  }

  /** Call, and its answer. */
  get answers(): readonly unknown[] {
    return this.effects.flatMap((effect) => {
      if (effect.kind !== 'send' || 'kind' in effect.message || effect.message.body.case !== 'callReply') return [];
      const { callId, outcome } = effect.message.body.value as CallReply;
      if (outcome.case === 'error') return [[callId, CallErrorCode[outcome.value.code]]];
      const { sessions, pendingNodes } = outcome.value as { sessions: number; pendingNodes: number[] };
      return [[callId, sessions, pendingNodes.join()]];
    });
  }

  get isStopped(): boolean {
    return this.effects.some(({ kind }) => kind === 'stop');
  }
}

describe('a key that is closed', () => {
  test('is deleted by its nodes once all its sessions have ended, and a second call waits with the first', () => {
    const closing = new Closing().begun('sig_1', 'sig_2');
    expect(closing.told).toEqual(['sig_1', 'sig_2']);
    expect(closing.call().effects).toEqual([]);
    expect(closing.ended('sig_1').told).toEqual([]);
    expect(closing.ended('sig_1').told).toEqual([]);
    expect(closing.ended('sig_2').told).toEqual(nodes);
    for (const id of [1, 1, 9, 2]) expect(closing.deleted(id).answers).toEqual([]);
    expect(closing.deleted(3).answers).toEqual([
      [1n, 2, ''],
      [2n, 2, ''],
    ]);
    expect(closing.isStopped).toBe(true);
  });

  test('searches again for sessions that do not end, and gives up after five searches', () => {
    const closing = new Closing().begun('sig_1');
    for (let search = 2; search <= 5; search += 1) {
      expect(closing.waited().effects).toMatchObject([{ kind: 'load' }]);
      expect(closing.found('sig_1').told).toEqual(['sig_1']);
    }
    expect([closing.waited().answers, closing.isStopped]).toEqual([[[1n, 'UNAVAILABLE']], true]);
  });

  test('tells no session to end when a search ends after them', () => {
    const closing = new Closing().begun('sig_1').waited().ended('sig_1');
    expect(closing.told).toEqual(nodes);
    expect(closing.found('sig_1').effects).toEqual([]);
  });

  test('asks three times for the deletion, and names the nodes that did not confirm it', () => {
    const closing = new Closing().begun();
    expect(closing.told).toEqual(nodes);
    closing.deleted(2);
    expect([closing.waited().told, closing.waited().told]).toEqual([
      [1, 3],
      [1, 3],
    ]);
    expect(closing.waited().answers).toEqual([[1n, 0, '1,3']]);
  });

  test('is deleted by all nodes again for a later call: a node may have made its share in between', () => {
    const closing = new Closing().begun().deleted(1);
    expect(closing.call().told).toEqual(nodes);
  });

  test.each(['persistRefused', 'loadFailed'])('whose store fails (%s) must be closed again', (kind) => {
    const closing = new Closing().call().tell({ kind: 'continue' });
    expect(closing.take({ kind } as unknown as CoordinatorInput).answers).toEqual([[1n, 'UNAVAILABLE']]);
  });

  test('starts nothing for a message that comes late', () => {
    const late = [new Closing().ended('sig_1'), new Closing().deleted(1), new Closing().tell({ kind: 'continue' })];
    for (const { effects } of late) expect(effects).toEqual([{ kind: 'stop' }]);
  });
});

test('a wallet that becomes stricter ends clients’ sessions, and keeps its key', () => {
  const revoking = new Closing('revoking').call();
  expect(revoking.tell({ kind: 'continue' }).effects).toMatchObject([{ kind: 'load' }]);
  expect(revoking.found('sig_1').effects[0]).toMatchObject({ message: { kind: 'revoke', clientsOnly: true } });
  expect([revoking.ended('sig_1').answers, revoking.told]).toEqual([[[1n, 1, '']], []]);
});
